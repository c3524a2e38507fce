import Glibc
import KuraBytes

/// A file that a command writes: whole, or not at all, and readable by its owner alone.
///
/// Safety: Swift lends paths as C strings for the call; `write` gets a buffer with its length; the text of `strerror` is
/// copied at once by the only thread.
enum OutputFile {
    /// Writes a new file beside `path` and puts it there.
    static func write(_ bytes: [UInt8], to path: String) throws(Failure) {
        let draft = path + ".\(getpid()).part"
        try bytes.withBytes { (bytes) throws(Failure) in try make(bytes, at: draft, for: path) }
        guard unsafe rename(draft, path) == 0 else {
            let failure = failure(path)
            unsafe unlink(draft)
            throw failure
        }
    }

    /// Writes a file that must not be there yet.
    /// - Parameters:
    ///   - bytes: all of it.
    ///   - path: where.
    ///   - name: what messages call it; nil: as `path`.
    /// - Throws: when it is there, or cannot be written; then it is taken away again.
    static func make(_ bytes: Bytes, at path: String, for name: String? = nil) throws(Failure) {
        let descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw failure(name ?? path) }
        defer { close(descriptor) }
        var rest = bytes
        while !rest.isEmpty {
            let count = unsafe Glibc.write(descriptor, rest.baseAddress, rest.count)
            guard count > 0 else { break }
            rest = rest.extracting(count..<rest.count)
        }
        guard rest.isEmpty, fsync(descriptor) == 0 else {
            let failure = failure(name ?? path)
            unsafe unlink(path)
            throw failure
        }
    }

    private static func failure(_ path: String) -> Failure {
        .usage(unsafe "cannot write \(path): \(String(cString: strerror(errno)))")
    }
}
