import Glibc
import KuraBytes
import KuraClient
import KuraProtocol

/// A subscription that outlives its connection: when the daemon goes, the next one is waited for, and asked for what comes behind the
/// last revision that was told.
///
/// Whether anything was missed is the daemon's to say: one that no longer has all that lies between (`compacted`), or that has another
/// history (`epochChanged`), refuses, and the command ends with that.
struct Subscription {
    /// Where it ends by itself.
    struct Bounds {
        /// Lines that are printed.
        var count: Int?
        var seconds: Double?
    }

    let verb: Verb
    let options: GlobalOptions
    let console: Console
    private var asked: Parameters
    private var stream: StreamView
    private let bounds: Bounds
    private let start = ProgressLine.seconds()

    init(
        verb: Verb, parameters: Parameters, columns: [String], bounds: Bounds, options: GlobalOptions, console: Console
    ) {
        self.verb = verb
        self.bounds = bounds
        self.options = options
        self.console = console
        asked = parameters
        stream = StreamView(form: options.form, console: console, wanted: columns)
    }

    /// Prints what comes, for as long as it comes, or until a bound is met.
    /// - Parameters:
    ///   - session: the connection that the subscription was made on; another one when that is lost.
    ///   - result: what the subscription was answered.
    /// - Throws: what ends it: the daemon's refusal, or that it did not come back in time.
    mutating func follow(_ session: inout Session, _ result: [UInt8]) throws(Failure) {
        stream.begin(result)
        note(result)
        var printed = 0
        while !isOver {
            do throws(Failure) {
                let notice = try session.nextNotice(within: left)
                printed += stream.show(notice, most: bounds.count.map { $0 - printed })
                note(notice.params)
                if let count = bounds.count, printed >= count { return }
            } catch {
                if isOver { return }
                guard error.isConnectionLost else { throw error }
                do throws(Failure) { session = try again() } catch {
                    if isOver { return }
                    throw error
                }
            }
        }
    }

    /// Seconds until the time is over; nil when there is no end.
    private var left: Double? { bounds.seconds.map { max(0, start + $0 - ProgressLine.seconds()) } }

    private var isOver: Bool { left.map { $0 < 0.001 } ?? false }

    /// A live query is told whole again; changes go on where they ended.
    private var resumes: Bool { verb.method.name == "changes.watch" }

    private mutating func note(_ params: [UInt8]) {
        guard resumes, let object = JSONObject(params) else { return }
        // A client reads elsewhere what retention removed or a recovery lost; this page goes on behind it.
        if let rev = object["rev"] ?? object["resyncRev"] ?? object["toRev"] { asked["afterRev"] = rev }
        if let epoch = object["epoch"] { asked["epoch"] = epoch }
    }

    /// A new connection with the subscription on it.
    /// - Throws: the daemon's refusal, or that none has come within the time that `--timeout` gives.
    private mutating func again() throws(Failure) -> Session {
        let limit = [options.timeoutMilliseconds.map { Double($0) / 1000 }, left].compactMap(\.self).min()
        return try Session.awaited(options, console, seconds: limit) { (session) throws(Failure) in
            let result = try session.result(verb.method, asked.json)
            stream.resume(result)
            note(result)
        }
    }
}
