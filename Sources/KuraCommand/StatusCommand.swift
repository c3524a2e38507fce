import Glibc
import KuraBytes
import KuraClient
import KuraProtocol

/// `kura status`: asks the daemon how it is. Done means that it is ready.
struct StatusCommand {
    let catalogue: Catalogue
    let options: GlobalOptions
    let console: Console

    /// A daemon that is alive answers this one ahead of everything else.
    private static let timeoutMilliseconds: Int32 = 10_000

    func run(_ method: Method) throws(Failure) -> ExitCode {
        var session = try Session.open(options, console, timeoutMilliseconds: Self.timeoutMilliseconds)
        let reasons = try reasonsNotToBeReady(&session)
        let result = try session.result(method)
        guard let status = JSONObject(result), status.string("version") != nil else {
            throw Failure(status: .noDaemon, message: "the answer is no status")
        }
        if !console.isQuiet {
            if options.form == .standard, console.output.isTerminal {
                let summary = StatusSummary(
                    status, socket: options.socket(console.environment), now: Int64(time(nil)), isReady: reasons == nil)
                console.print(summary.text(width: console.width, style: console.style))
            } else {
                console.print(line: result)
            }
        }
        guard let reasons else { return .done }
        throw Failure(
            status: .tryAgain, message: "the daemon is not ready" + (reasons.isEmpty ? "" : ": \(reasons)"),
            hint: "it answers; its log tells more")
    }

    /// nil when it is ready, or does not know the question, as a daemon before `storage.health`.
    private func reasonsNotToBeReady(_ session: inout Session) throws(Failure) -> String? {
        guard let health = catalogue.verbs.first(where: { $0.method.name == "storage.health" }) else { return nil }
        do throws(Failure) {
            let answer = JSONObject(try session.result(health.method))
            guard answer?.boolean("ready") == false else { return nil }
            return (answer?["reasons"].flatMap(JSONElements.read) ?? []).map(Table.cell).joined(separator: ", ")
        } catch {
            guard error.message.hasPrefix("methodNotFound") else { throw error }
            return nil
        }
    }
}
