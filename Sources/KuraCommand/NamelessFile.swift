import Glibc
import KuraBytes

// Safety: Swift lends paths as C strings for the call; `write` gets an address and a count of the same bytes; the template of `mkstemp`
// is ours and ends with a zero.

/// A file without a name, which goes with its owner.
struct NamelessFile: ~Copyable {
    let descriptor: Int32

    init(_ console: Console) throws(Failure) {
        descriptor = try Self.make(in: console.environment("TMPDIR") ?? "/tmp")
    }

    /// - Returns: its descriptor, which the caller closes.
    static func make(in directory: String) throws(Failure) -> Int32 {
        var template = Array((directory + "/kura-XXXXXX").utf8CString)
        let descriptor = unsafe mkstemp(&template)
        guard descriptor >= 0 else { throw Failure.file("cannot make a file in \(directory)") }
        unsafe unlink(template)
        return descriptor
    }

    deinit { close(descriptor) }

    borrowing func append(_ bytes: [UInt8]) throws(Failure) { try Self.append(bytes, to: descriptor) }

    /// Writes all of it to a temporary file.
    static func append(_ bytes: [UInt8], to descriptor: Int32) throws(Failure) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withBytes { unsafe write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw Failure.file("cannot write a temporary file") }
            rest = rest.dropFirst(count)
        }
    }

    borrowing func rewind() { lseek(descriptor, 0, SEEK_SET) }
}
