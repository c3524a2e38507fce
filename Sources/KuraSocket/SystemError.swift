#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// A system call that failed.
public struct SystemError: Error, CustomStringConvertible, Sendable {
    public let call: StaticString
    public let code: Int32
    public let path: String?

    /// Takes `errno` as it is now.
    public init(_ call: StaticString, path: String? = nil) {
        self.call = call
        self.path = path
        code = errno
    }

    public var description: String {
        // Safety: `strerror_r` writes no more than it is told, the final zero counted.
        let text = unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 128) { buffer in
            unsafe strerror_r(code, buffer.baseAddress!, 128) == 0
                ? String(cString: buffer.baseAddress!) : "error \(code)"
        }
        return path.map { "\(call) \($0): \(text)" } ?? "\(call): \(text)"
    }
}
