import Glibc
import KuraBytes

/// Bytes that end where readable memory ends: reading one past them is a crash, not luck.
final class GuardedBytes {
    private let base: UnsafeMutableRawPointer
    private let readable: Int
    private static let page = 4096

    /// - Parameter capacity: most bytes that it will hold.
    init(capacity: Int = 1 << 16) {
        readable = (capacity + Self.page - 1) / Self.page * Self.page
        let size = readable + Self.page
        guard let base = mmap(nil, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), base != MAP_FAILED
        else { fatalError("mmap: \(errno)") }
        precondition(mprotect(base + readable, Self.page, PROT_NONE) == 0, "mprotect: \(errno)")
        self.base = base
    }

    deinit {
        munmap(base, readable + Self.page)
    }

    /// Runs `body` on `bytes`, placed against the end.
    func with<R>(_ bytes: some Collection<UInt8>, _ body: (Bytes) throws -> R) rethrows -> R {
        precondition(bytes.count <= readable)
        let target = UnsafeMutableRawBufferPointer(start: base + readable - bytes.count, count: bytes.count)
        target.copyBytes(from: bytes)
        return try withExtendedLifetime(self) { try body(Bytes(target)) }
    }

    static func with<R>(_ bytes: some Collection<UInt8>, _ body: (Bytes) throws -> R) rethrows -> R {
        try GuardedBytes(capacity: max(bytes.count, 1)).with(bytes, body)
    }
}
