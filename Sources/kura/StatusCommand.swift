import Glibc
import KuraClient

/// `kura status`: asks the daemon how it is. Exit 0 means that it answered.
enum StatusCommand {
    /// A daemon that is alive answers this one ahead of everything else.
    private static let timeoutMilliseconds: Int32 = 10_000

    static func run(_ options: Options) throws(Failure) {
        let reply: Reply
        do throws(ClientError) {
            var client = try Client.connect(to: options.socket, timeoutMilliseconds: timeoutMilliseconds)
            reply = try client.call("storage.status")
        } catch {
            throw Failure(error)
        }
        switch reply {
        case .result(let result):
            guard let status = JSONObject(result), status.string("version") != nil else {
                throw Failure(status: ExitStatus.noDaemon, message: "the answer is no status")
            }
            if options.isQuiet { return }
            if options.isJSON || !Output.isTerminal { return Output.write(result + [0x0A]) }
            Output.write(StatusSummary(status, socket: options.socket, now: Int64(time(nil))).text)
        case .error(let error): Output.fail(Failure(error), isJSON: options.isJSON)
        }
    }
}
