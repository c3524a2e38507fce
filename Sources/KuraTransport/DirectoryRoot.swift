import CSyscalls
import Glibc
public import KuraSocket

/// Opening beneath a directory, whatever links and dots the rest of the path has (openat2(2)).
///
/// Safety: Swift lends the path as a C string for the call; `readlink` gets one byte less than its buffer has.
public final class DirectoryRoot: Sendable {
    public let path: String
    private let descriptor: Int32

    /// `path`: an absolute path of a directory that is there.
    public init(_ path: String) throws(SystemError) {
        descriptor = unsafe csys_open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0)
        guard descriptor >= 0 else { throw SystemError("open", path: path) }
        self.path = path
    }

    deinit {
        close(descriptor)
    }

    /// Opens what `relative` names, as long as it lies beneath the root and no symbolic link is on the way.
    public func open(_ relative: String, flags: Int32) throws(SystemError) -> PassedDescriptor {
        let opened = unsafe csys_openat2_beneath(descriptor, relative, flags | O_CLOEXEC | O_NOCTTY, 0o600)
        guard opened >= 0 else { throw SystemError("openat2") }
        return PassedDescriptor(owning: opened)
    }

    /// Where an open descriptor leads, without links and dots; nil when the kernel cannot tell.
    public static func location(of descriptor: Int32) -> String? {
        var buffer = [CChar](repeating: 0, count: 4097)
        let count = unsafe readlink("/proc/self/fd/\(descriptor)", &buffer, 4096)
        guard count > 0 else { return nil }
        return String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// Where the root itself leads.
    public func location() -> String? { Self.location(of: descriptor) }
}
