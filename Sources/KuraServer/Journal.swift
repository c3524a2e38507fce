import Glibc
public import KuraBytes
import KuraProtocol
import Synchronization

/// The daemon's own log: one line an event on standard error, JSON when that is no terminal. Never a value, never a key, and
/// never a control character.
///
/// Nobody waits for whoever reads it: a line for which there is no room is left out, and the next one says how many were.
public final class Journal: @unchecked Sendable {
    // What changes after `init` is atomic; one write(2) a line keeps lines whole.

    public enum Level: Int, Comparable, Sendable, CaseIterable {
        case debug, info, warning, error

        public init?(name: String) {
            guard let level = Self.allCases.first(where: { $0.name == name }) else { return nil }
            self = level
        }

        public var name: String {
            switch self {
            case .debug: "debug"
            case .info: "info"
            case .warning: "warning"
            case .error: "error"
            }
        }

        public static func < (left: Level, right: Level) -> Bool { left.rawValue < right.rawValue }
    }

    private let threshold: Atomic<Int>
    private let isTerminal: Bool
    private let descriptor: Int32
    private let clock: Clock
    /// Lines left out since the last one.
    private let lost = Atomic<Int>(0)

    public init(threshold: Level, clock: Clock = .system, descriptor: Int32 = 2) {
        self.clock = clock
        self.threshold = Atomic(threshold.rawValue)
        self.descriptor = descriptor
        isTerminal = isatty(descriptor) == 1
    }

    /// From now on lines below `level` are left out.
    public func setThreshold(_ level: Level) { threshold.store(level.rawValue, ordering: .relaxed) }

    /// `event`: a fixed sentence.
    /// `fields`: numbers, paths and names that are no secrets.
    public func log(_ level: Level, _ event: StaticString, _ fields: [(String, String)] = []) {
        guard level.rawValue >= threshold.load(ordering: .relaxed) else { return }
        guard hasRoom else {
            lost.add(1, ordering: .relaxed)
            return
        }
        var fields = fields
        let lost = lost.exchange(0, ordering: .relaxed)
        if lost > 0 { fields.append(("linesLost", String(lost))) }
        var line = ByteBuffer()
        let milliseconds = clock.wall
        if isTerminal {
            line.append(timestamp: milliseconds)
            line.removeFirst(1)
            line.truncate(to: line.count - 1)
            line.append(text: " \(level.name) ")
            line.append(event)
            for (name, value) in fields { line.append(text: " \(name)=\(value)") }
        } else {
            line.openObject()
            line.append(.time, milliseconds)
            line.append(.level, level.name)
            line.append(.event, event.description)
            for (name, value) in fields {
                line.append(key: name)
                line.append(quoted: value)
            }
            line.closeObject()
        }
        // What a path or a name has in it moves nobody's cursor, wherever the line is read. The escapes are JSON's as well.
        let text = TerminalText.line(String(decoding: Array(line.bytes), as: UTF8.self))
        // A pipe that is said to be writable takes so much without waiting (pipe(7)).
        let bytes = Array(text.utf8.prefix(4095)) + [0x0A]
        // Safety: address and count are of the same bytes.
        _ = bytes.withBytes { unsafe write(descriptor, $0.baseAddress, $0.count) }
    }

    private var hasRoom: Bool {
        var state = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        // Safety: the kernel fills one `pollfd`, which is ours.
        return unsafe poll(&state, 1, 0) != 0
    }
}
