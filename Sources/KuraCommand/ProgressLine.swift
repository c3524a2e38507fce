import Glibc
import KuraClient

/// How far a request has come, on a terminal's standard error: from the first second on, erased at the end.
///
/// Driven by notifications whose method ends with `.progress` and whose parameters have `done` and, when it is known, `total`;
/// `phase` names what is being done.
final class ProgressLine {
    private let console: Console
    private let title: String
    private let now: () -> Double
    private let start: Double
    private var isShown = false
    private var lastDrawn = 0.0
    private(set) var done: Int64?
    /// Documents that are stored so far, as an import tells.
    private(set) var imported: Int64?
    private var total: Int64?
    private var phase: String?

    /// - Parameters:
    ///   - console: nothing is drawn when its standard error is no terminal.
    ///   - title: what is under way: `docs import`.
    ///   - now: seconds of a clock that never goes back.
    init(_ console: Console, title: String, now: @escaping () -> Double = ProgressLine.seconds) {
        self.console = console
        self.title = title
        self.now = now
        start = now()
    }

    /// What follows is told anew, from its beginning.
    func forget() { (done, imported) = (nil, nil) }

    static func seconds() -> Double {
        var time = timespec()
        // Safety: the kernel fills one `timespec`, which is ours.
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    func take(_ notice: Notice) {
        guard notice.isProgress, let params = JSONObject(notice.params) else { return }
        imported = params.integer("imported") ?? imported
        update(done: params.integer("done"), total: params.integer("total"), phase: params.string("phase"))
    }

    func update(done: Int64?, total: Int64? = nil, phase: String? = nil) {
        // The first figures take the place of the waiting time at once.
        if self.done == nil { lastDrawn = 0 }
        self.done = done
        self.total = total
        self.phase = phase ?? self.phase
        tick()
    }

    /// Draws anew, ten times a second at most.
    func tick() {
        guard console.errors.isTerminal, !console.isQuiet else { return }
        let time = now()
        guard time - start >= 1, time - lastDrawn >= 0.1 else { return }
        lastDrawn = time
        isShown = true
        console.draw(errorLine: line(elapsed: time - start))
    }

    func erase() {
        guard isShown else { return }
        isShown = false
        console.draw(errorLine: "")
    }

    /// One column short of the width: a full line would wrap.
    func line(elapsed: Double) -> String {
        let room = console.width - 1
        let name = Visible.line(phase.map { "\(title): \($0)" } ?? title)
        let time = "\(Int(elapsed)) s"
        guard let done else { return Visible.truncated("\(name): waiting, \(time)", to: room) }
        guard let total, total > 0 else {
            return Visible.truncated("\(name): \(Self.grouped(done)), \(time)", to: room)
        }
        let part = min(1, max(0, Double(done) / Double(total)))
        let percent = String(Int(part * 100))
        let left = Visible.truncated(name, to: room / 3)
        let right =
            String(repeating: " ", count: 3 - percent.count)
            + "\(percent)%  \(Self.grouped(done)) of \(Self.grouped(total)), \(time)"
        let bar = room - Visible.width(left) - Visible.width(right) - 5
        guard bar >= 5 else { return Visible.truncated("\(left) \(right)", to: room) }
        let filled = Int(Double(bar) * part)
        return
            "\(left)  [\(String(repeating: "#", count: filled))\(String(repeating: ".", count: bar - filled))] \(right)"
    }

    /// 10000 as 10,000.
    private static func grouped(_ value: Int64) -> String {
        let digits = Array(String(value))
        return String(
            digits.enumerated().flatMap { index, digit in
                index > 0 && digits[index - 1] != "-" && (digits.count - index) % 3 == 0 ? [",", digit] : [digit]
            })
    }
}
