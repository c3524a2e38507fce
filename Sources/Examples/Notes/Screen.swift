import Foundation
import Synchronization

/// Where the notes are shown. On a terminal they stay above the line that is typed, which drawing leaves alone; elsewhere one screen comes
/// below the other.
final class Screen: Sendable {
    private let isTerminal = isatty(STDOUT_FILENO) == 1 && isatty(STDIN_FILENO) == 1
    private let shown = Mutex("")

    /// Rows and columns; no bounds elsewhere.
    private var size: (rows: Int, columns: Int) {
        var size = winsize()
        guard isTerminal, ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_row > 0 else {
            return isTerminal ? (24, 80) : (.max, .max)
        }
        return (max(6, Int(size.ws_row)), max(40, Int(size.ws_col)))
    }

    /// A line that is cut so that its end is in sight.
    func fitted(_ text: String, _ end: String) -> String {
        let room = max(10, size.columns - 1 - min(end.count, size.columns / 2))
        return (text.count > room ? text.prefix(room - 1) + "…" : text) + end
    }

    /// As many notes as there is room for, the last ones.
    func fitted(_ headlines: [String], _ notes: [String]) -> [String] {
        let rows = size.rows - 4
        let head = headlines.isEmpty ? [] : headlines.prefix(max(1, rows / 2)) + [""]
        let room = rows - head.count
        guard notes.count > room else { return head + notes }
        return head + ["… \(notes.count - room + 1) before these"] + notes.suffix(room - 1)
    }

    /// Draws, when it is another screen than before.
    func show(_ lines: [String], _ status: String?) {
        guard isTerminal else {
            let text = (lines + [status].compactMap { $0 }).joined(separator: "\n")
            shown.withLock { shown in
                if text != shown { say(text + "\n--") }
                shown = text
            }
            return
        }
        let (rows, columns) = size
        let status = String((status ?? UserInterface.commands).prefix(columns - 1))
        let blank = Array(repeating: "", count: max(0, rows - 3 - lines.count))
        let frame = (lines + blank + [status]).map { $0 + "\u{1B}[K" }.joined(separator: "\r\n")
        shown.withLock { shown in
            guard frame != shown else { return }
            // The place of typing is kept over it (ESC 7, ESC 8); a line that is too long is cut at the margin (?7l).
            if shown.isEmpty { write(prompt) }
            write("\u{1B}7\u{1B}[?7l\u{1B}[H\(frame)\u{1B}[?7h\u{1B}8")
            shown = frame
        }
    }

    /// A line has been typed: begins the next one, on a clean screen. Elsewhere the answer is a line of its own.
    /// - Returns: what is still to be shown.
    func answered(_ answer: String?) -> String? {
        if isTerminal {
            shown.withLock { $0 = "" }
            return answer
        }
        if let answer { say(answer) }
        return nil
    }

    /// Leaves the terminal to the next program.
    func end() {
        if isTerminal { write("\u{1B}[\(size.rows);1H\n") }
    }

    private var prompt: String { "\u{1B}[2J\u{1B}[\(size.rows - 1);1H> " }

    private func write(_ text: String) { FileHandle.standardOutput.write(Data(text.utf8)) }
}
