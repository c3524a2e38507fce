import CSyscalls
import Glibc
import KuraBytes
import Synchronization

// Safety: the kernel fills and reads one `termios` and one `pollfd`, which are ours; `read` gets a byte to fill.

/// `kura top`: what the daemon does now, drawn anew each second.
enum TopCommand {
    static let tool = Tool(
        noun: nil, word: "top", arguments: [],
        options: [
            Tool.Option(
                name: "once", value: nil, summary: "Print one screen of what there has been since its start, and end.")
        ],
        summary: "Show what the daemon does now: requests, latencies, syncs, caches.",
        explanation: [
            "On a terminal the screen is drawn anew each second: rates and ranks are those of the last second, by method, the most asked for first. "
                + "q ends it. Elsewhere, and with --once, it prints one screen of everything since the daemon's start.",
            "A latency is from when the daemon read a request's last bytes to when its reply had left; ranks are rounded up by a sixteenth at most. "
                + "What waits for something to happen (changes.wait) is not in them. The role needs the verb monitor on the store 'storage'.",
        ],
        examples: ["kura top", "kura top --once"])

    /// Longest silence of the daemon.
    private static let timeoutMilliseconds: Int32 = 5000

    static func run(
        _ arguments: ToolArguments, _ options: GlobalOptions, _ console: Console, _ catalogue: Catalogue
    ) throws(Failure) -> ExitCode {
        try arguments.check(least: 0, most: 0)
        guard options.form == .standard else {
            throw .usage(
                "top is for people, and has no JSON", hint: "'kura storage stats' and 'kura metrics' are for programs")
        }
        let socket = options.socket(console.environment)
        let first = try ask(options, console, catalogue)
        guard console.output.isTerminal, console.isInputTerminal, !arguments.has("once") else {
            guard !console.isQuiet else { return .done }
            let lines = TopScreen(now: first, before: nil, socket: socket)
                .lines(width: console.width, height: .max, style: console.style)
            for line in lines { console.print(line + "\n") }
            return .done
        }
        guard let terminal = LiveTerminal() else {
            throw Failure(status: .refused, message: "the terminal cannot be drawn on", hint: "kura top --once")
        }
        defer { terminal.leave() }
        watch(first, socket, options, console, catalogue, terminal)
        terminal.leave()
        LiveTerminal.endIfAsked()
        return .done
    }

    private static func ask(
        _ options: GlobalOptions, _ console: Console, _ catalogue: Catalogue
    ) throws(Failure) -> DaemonNumbers {
        var session = try Session.open(options, console, timeoutMilliseconds: timeoutMilliseconds)
        return try DaemonNumbers.ask(&session, catalogue)
    }

    private static func watch(
        _ first: DaemonNumbers, _ socket: String, _ options: GlobalOptions, _ console: Console, _ catalogue: Catalogue,
        _ terminal: LiveTerminal
    ) {
        var (now, before): (DaemonNumbers, DaemonNumbers?) = (first, nil)
        var trouble = ""
        repeat {
            let (width, height) = terminal.size
            var lines = TopScreen(now: now, before: before, socket: socket)
                .lines(width: width, height: height - 1, style: console.style)
            while lines.count < height - 1 { lines.append("") }
            let foot = trouble.isEmpty ? "q ends" : "\(trouble); q ends"
            lines.append(console.style.dim(Visible.truncated(Visible.line(foot), to: width)))
            terminal.draw(lines, console)
            guard terminal.wait(milliseconds: 1000) else { return }
            do throws(Failure) {
                let next = try ask(options, console, catalogue)
                (now, before, trouble) = (next, now, "")
            } catch { trouble = error.message }
        } while true
    }
}

/// The terminal while something is drawn on it again and again: keys come one by one, without an echo, and what was there comes back.
final class LiveTerminal {
    private var usual: termios
    private var isLive = true

    /// The signal that asked the process to end; 0: none has.
    private static let signalled = Atomic<Int32>(0)
    private static let signals = [SIGINT, SIGTERM, SIGHUP]

    /// nil when there is no terminal.
    init?() {
        usual = termios()
        guard unsafe tcgetattr(STDIN_FILENO, &usual) == 0 else { return nil }
        var quiet = usual
        quiet.c_lflag &= ~tcflag_t(ECHO | ECHONL | ICANON)
        guard unsafe tcsetattr(STDIN_FILENO, TCSAFLUSH, &quiet) == 0 else { return nil }
        for number in Self.signals {
            // Before it ends the process has to leave the terminal as it was.
            signal(number) { LiveTerminal.signalled.store($0, ordering: .relaxed) }
        }
        Self.write("\u{1B}[?1049h\u{1B}[?25l")
    }

    /// Columns and rows.
    var size: (width: Int, height: Int) {
        let (columns, rows) = (csys_terminal_columns(STDOUT_FILENO), csys_terminal_rows(STDOUT_FILENO))
        return (columns > 0 ? Int(columns) : 80, rows > 0 ? Int(rows) : 24)
    }

    /// Over what was drawn before: nothing flickers.
    func draw(_ lines: [String], _ console: Console) { console.draw(lines) }

    /// Waits for so long, or for a key.
    /// - Returns: false when it is to end.
    func wait(milliseconds: Int64) -> Bool {
        let end = Int64(ProgressLine.seconds() * 1000) + milliseconds
        while Self.signalled.load(ordering: .relaxed) == 0 {
            let left = end - Int64(ProgressLine.seconds() * 1000)
            guard left > 0 else { return true }
            var state = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
            guard unsafe poll(&state, 1, Int32(clamping: left)) > 0 else { continue }
            var key: UInt8 = 0
            guard unsafe read(STDIN_FILENO, &key, 1) == 1 else { return false }
            if [UInt8(ascii: "q"), UInt8(ascii: "Q"), 4].contains(key) { return false }
        }
        return false
    }

    /// The terminal is as it was; once.
    func leave() {
        guard isLive else { return }
        isLive = false
        Self.write("\u{1B}[?25h\u{1B}[?1049l")
        unsafe tcsetattr(STDIN_FILENO, TCSAFLUSH, &usual)
        for number in Self.signals { signal(number, SIG_DFL) }
    }

    /// Ends the process by the signal that asked for it, if one has.
    static func endIfAsked() {
        let number = signalled.load(ordering: .relaxed)
        if number != 0 { raise(number) }
    }

    private static func write(_ sequence: StaticString) {
        let bytes = Array("\(sequence)".utf8)
        bytes.withBytes { _ = unsafe Glibc.write(STDOUT_FILENO, $0.baseAddress, $0.count) }
    }
}
