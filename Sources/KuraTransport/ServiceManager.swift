import CSyscalls
import Glibc

/// Tells whoever supervises the process how it is, as sd_notify(3) describes: a datagram of lines `NAME=value` to the socket that
/// `NOTIFY_SOCKET` names. Without one, every call does nothing. Belongs to the loop.
public final class ServiceManager {
    private let address: String?
    private let descriptor: Int32
    /// Nanoseconds between two signs of life: half of what the manager waits; nil when it waits for none.
    public let watchdogInterval: UInt64?

    /// Takes `NOTIFY_SOCKET`, `WATCHDOG_USEC` and `WATCHDOG_PID` out of the environment, so that no child believes them.
    public init() {
        let address = Self.take("NOTIFY_SOCKET")
        let microseconds = Self.take("WATCHDOG_USEC").flatMap { UInt64($0) }
        let process = Self.take("WATCHDOG_PID")
        let isOurs = process == nil || process.flatMap { Int32($0) } == getpid()
        // A path, or a name in the abstract name space behind `@`; anything else is a manager that we do not know.
        let isKnown = address.map { $0.utf8.count > 1 && ($0.hasPrefix("/") || $0.hasPrefix("@")) } ?? false
        self.address = isKnown ? address : nil
        descriptor =
            isKnown
            ? socket(
                AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
            : -1
        watchdogInterval =
            isKnown && isOurs ? microseconds.flatMap { $0 > 0 && $0 < 1 << 50 ? $0 * 1000 / 2 : nil } : nil
    }

    private init(address: String?, descriptor: Int32, watchdogInterval: UInt64?) {
        self.address = address
        self.descriptor = descriptor
        self.watchdogInterval = watchdogInterval
    }

    /// Nobody, whatever the environment says: it is not this daemon's.
    public static var nobody: ServiceManager { ServiceManager(address: nil, descriptor: -1, watchdogInterval: nil) }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    public var isThere: Bool { descriptor >= 0 }

    /// Sends one datagram; what cannot be sent is left: nobody waits for a manager.
    public func tell(_ lines: String...) {
        guard let address, descriptor >= 0 else { return }
        var text = lines.joined(separator: "\n")
        // Safety: address and count are of the same bytes, which the kernel reads before it returns.
        text.withUTF8 { text in _ = unsafe csys_notify(descriptor, address, text.baseAddress, text.count) }
    }

    private static func take(_ name: String) -> String? {
        // Safety: before the first thread; copied before it is taken out.
        defer { unsafe unsetenv(name) }
        return unsafe getenv(name).map { unsafe String(cString: $0) }
    }
}
