import Glibc
import KuraBytes
import KuraClient
import KuraProtocol

/// A connection to the daemon that turns what goes wrong into failures, and shows how far a long request has come.
struct Session: ~Copyable {
    private var client: Client
    private let console: Console
    private let memory: UndoMemory?

    static func open(
        _ options: GlobalOptions, _ console: Console, timeoutMilliseconds: Int32? = nil
    ) throws(Failure) -> Session {
        let line = ProgressLine(console, title: "connecting")
        defer { line.erase() }
        do throws(ClientError) {
            let path = options.socket(console.environment)
            let timeout = options.timeoutMilliseconds ?? timeoutMilliseconds
            return Session(
                client: try Client.connect(
                    to: path, peerUIDs: options.peerUIDs, timeoutMilliseconds: timeout,
                    environment: console.environment
                ) { line.tick() }, console: console, memory: UndoMemory(console.environment, socket: path))
        } catch {
            throw Failure(error)
        }
    }

    private init(client: consuming Client, console: Console, memory: UndoMemory?) {
        self.client = client
        self.console = console
        self.memory = memory
    }

    /// Waits before each attempt to reach a daemon that is gone, in milliseconds; the last one again and again.
    private static let delays: [UInt32] = [100, 200, 500, 1000, 2000]
    /// How long the next daemon is waited for when nobody says.
    static let patience = 60.0

    /// Waits for the daemon that comes after one that is gone.
    /// - Parameters:
    ///   - options: where it is to be.
    ///   - console: who waits is told so.
    ///   - seconds: how long; nil: until somebody interrupts it.
    ///   - begin: what is to be asked on the new connection; done again while the daemon begins or ends, which is the same as none.
    /// - Returns: a connection to it.
    /// - Throws: the daemon's refusal, or why there is none, when the time is over.
    static func awaited(
        _ options: GlobalOptions, _ console: Console, seconds: Double?,
        begin: (inout Session) throws(Failure) -> Void = { (_) throws(Failure) in }
    ) throws(Failure) -> Session {
        console.remark("the daemon is gone; waiting for it at \(options.socket(console.environment)), ^C ends it")
        let start = ProgressLine.seconds()
        var attempt = 0
        while true {
            usleep(delays[min(attempt, delays.count - 1)] * 1000)
            attempt += 1
            do throws(Failure) {
                var session = try Session.open(options, console)
                try begin(&session)
                return session
            } catch {
                let isOver = seconds.map { ProgressLine.seconds() - start >= $0 } ?? false
                let mayCome = error.status == .noDaemon || error.status == .tryAgain
                guard mayCome, error.mayPass, !isOver else { throw error }
            }
        }
    }

    /// Makes one call that leads to the same when it is made twice: when the daemon goes meanwhile, the next one is asked again.
    /// - Parameters:
    ///   - method: what to call.
    ///   - params: JSON text of an object that is not empty.
    ///   - isOnce: it is sent under a request key, so that it is done once, and answered as it was the first time.
    ///   - descriptor: goes along.
    ///   - progress: erased when the daemon goes.
    ///   - options: where the next one is to be, and how long it is waited for.
    ///   - remedy: what to do when none comes.
    /// - Returns: the result.
    /// - Throws: the daemon's refusal, or why there is no answer.
    mutating func insistentResult(
        _ method: Method, _ params: [UInt8], isOnce: Bool = false, passing descriptor: Int32? = nil,
        progress: ProgressLine, _ options: GlobalOptions, remedy: String
    ) throws(Failure) -> [UInt8] {
        let params = isOnce ? Self.keyed(params) : params
        var interruptions = 0
        while true {
            do throws(Failure) {
                return try result(method, params, passing: descriptor, progress: progress)
            } catch {
                guard error.isInterruption else { throw error }
                progress.erase()
                interruptions += 1
                // What none is there for now is not known any better than before.
                var failure = error
                failure.hint = remedy
                guard interruptions <= Self.interruptionLimit else { throw failure }
                do throws(Failure) { self = try Self.awaited(options, console, seconds: options.patience) } catch {
                    throw failure
                }
            }
        }
    }

    /// The same parameters with a request key of their own.
    private static func keyed(_ params: [UInt8]) -> [UInt8] {
        let key = (0..<2).map { _ in String(UInt64.random(in: 0 ... .max), radix: 36) }.joined()
        return params.dropLast() + Array(",\"requestKey\":\"kura-\(key)\"}".utf8)
    }

    /// So often one request is begun again: what ends the daemon each time is to be told some day.
    static let interruptionLimit = 10

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
        let begin = UndoMemory.now()
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
        case .result(let result):
            if method.access == .write { memory?.note(method, params, result, from: begin) }
            return result
        case .error(let error):
            line.erase()
            var failure = Failure(error)
            let command = "kura \(Method.Store(rawValue: method.noun)?.shortName ?? method.noun) \(method.verb)"
            if let operation = JSONObject(error.data)?.integer("operation"), error.kind == "methodNotFound" {
                failure.hint = "operation \(operation), counted from 0, names no method that a transaction takes"
            } else if error.kind == "notFound", method.verb == "get" {
                // A version, or a text of several: the same as an item that is not there.
                failure.status = .absent
            } else if error.kind == "invalidParams" {
                // People at a shell have no table.
                failure.hint = failure.hint?.split(separator: "the method's table", omittingEmptySubsequences: false)
                    .joined(separator: "'\(command) --help'")
            } else if error.kind == "methodNotFound" {
                failure.hint =
                    "this daemon does not know \(method.name): it is another version than kura \(Kura.version); "
                    + "'kura status' tells which, and what is newer must be installed for both"
            }
            throw failure
        }
    }

    /// Makes one call that goes on until somebody has had enough.
    /// - Parameters:
    ///   - method: what to call; `rpc.cancel` ends it, and it is answered all the same.
    ///   - params: JSON text.
    ///   - descriptor: goes along.
    ///   - hasEnough: asked about ten times a second.
    /// - Returns: the result.
    /// - Throws: the daemon's refusal, or why there is no answer.
    mutating func result(
        _ method: Method, _ params: [UInt8], passing descriptor: Int32, until hasEnough: () -> Bool
    ) throws(Failure) -> [UInt8] {
        let reply: Reply
        do throws(ClientError) {
            reply = try client.call(method.name, params: params, passing: descriptor, until: hasEnough)
        } catch { throw Failure(error, access: method.access) }
        switch reply {
        case .result(let result): return result
        case .error(let error): throw Failure(error)
        }
    }

    /// Nothing is sent or awaited for longer than this from now on, however much comes meanwhile.
    mutating func end(within milliseconds: Int32) { client.end(within: milliseconds) }

    /// What came with the last reply; the caller closes it.
    mutating func takeDescriptor() -> Int32? { client.takeDescriptor() }

    /// - Parameter seconds: how long to wait; nil: as long as it takes.
    /// - Returns: the next notification of a subscription.
    /// - Throws: that the connection was lost, or that none came in time.
    mutating func nextNotice(within seconds: Double? = nil) throws(Failure) -> Notice {
        do throws(ClientError) {
            return try client.nextNotice(within: seconds.map { Int32(max(0, $0) * 1000) } ?? -1)
        } catch {
            throw Failure(error)
        }
    }
}
