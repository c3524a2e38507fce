import KuraBytes
import KuraClient
import KuraProtocol

/// A connection to the daemon that turns what goes wrong into failures, and shows how far a long request has come.
struct Session: ~Copyable {
    private var client: Client
    private let console: Console

    static func open(
        _ options: GlobalOptions, _ console: Console, timeoutMilliseconds: Int32? = nil
    ) throws(Failure) -> Session {
        do throws(ClientError) {
            let path = options.socket(console.environment)
            let timeout = options.timeoutMilliseconds ?? timeoutMilliseconds
            return Session(client: try Client.connect(to: path, timeoutMilliseconds: timeout), console: console)
        } catch {
            throw Failure(error)
        }
    }

    private init(client: consuming Client, console: Console) {
        self.client = client
        self.console = console
    }

    /// Makes one call.
    /// - Parameters:
    ///   - method: what to call.
    ///   - params: JSON text; empty when there are none.
    ///   - descriptor: goes along.
    ///   - progress: drawn while the reply is awaited, and left to the caller to erase; nil: a line of this call's own.
    /// - Returns: the result.
    /// - Throws: the daemon's refusal, or why there is no answer.
    mutating func result(
        _ method: Method, _ params: [UInt8] = [], passing descriptor: Int32? = nil, progress: ProgressLine? = nil
    ) throws(Failure) -> [UInt8] {
        let line = progress ?? ProgressLine(console, title: "\(method.noun) \(method.verb)")
        defer { if progress == nil { line.erase() } }
        let reply: Reply
        do throws(ClientError) {
            reply = try client.call(
                method.name, params: params, passing: descriptor, onNotice: { line.take($0) },
                whileWaiting: { line.tick() })
        } catch {
            line.erase()
            throw Failure(error, access: method.access)
        }
        switch reply {
        case .result(let result): return result
        case .error(let error):
            line.erase()
            var failure = Failure(error)
            if error.kind == "methodNotFound" {
                failure.hint =
                    "this daemon does not know \(method.name): it is another version than kura \(Kura.version); "
                    + "'kura status' tells which, and what is newer must be installed for both"
            }
            throw failure
        }
    }

    /// What came with the last reply; the caller closes it.
    mutating func takeDescriptor() -> Int32? { client.takeDescriptor() }

    mutating func nextNotice() throws(Failure) -> Notice {
        do throws(ClientError) {
            return try client.nextNotice()
        } catch {
            throw Failure(error)
        }
    }
}
