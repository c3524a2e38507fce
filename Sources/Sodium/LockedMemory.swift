import Glibc
import KuraBytes

/// Whether the keys' memory is really locked: mlock(2) that is refused goes unnoticed in libsodium, so the kernel is asked.
public enum LockedMemory {
    /// Bytes of this process that are locked into RAM (`VmLck` of /proc/self/status); nil when the kernel does not tell.
    public static var bytes: Int? {
        status.flatMap { kibibytes(of: "VmLck:", in: $0) }.map { $0 * 1024 }
    }

    /// Whether every region of `arena` is locked, and there is one.
    public static func isLocked(_ arena: KeyArena = .shared) -> Bool {
        let wanted = arena.regionBytes
        guard wanted > 0, let bytes else { return false }
        return bytes >= wanted
    }

    /// The number behind `name` at the beginning of a line.
    static func kibibytes(of name: StaticString, in text: [UInt8]) -> Int? {
        let name = Array(String(describing: name).utf8)
        for line in text.split(separator: UInt8(ascii: "\n")) where line.starts(with: name) {
            var value: Int?
            for byte in line.dropFirst(name.count) {
                if byte >= 0x30, byte <= 0x39 {
                    value = (value ?? 0) * 10 + Int(byte - 0x30)
                } else if value != nil {
                    break
                }
            }
            return value
        }
        return nil
    }

    /// /proc/self/status as it is now.
    ///
    /// Safety: `read` gets a buffer with its length.
    private static var status: [UInt8]? {
        let descriptor = unsafe open("/proc/self/status", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        return unsafe [UInt8](unsafeUninitializedCapacity: 8192) { buffer, count in
            count = max(0, unsafe read(descriptor, buffer.baseAddress, 8192))
        }
    }
}
