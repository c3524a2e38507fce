#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// A file without a name, in memory where the system has a place for that.
enum MemoryFile {
    /// - Throws: `noSpace` when there is none to have.
    static func make(_ bytes: [UInt8]) throws(KuraError) -> OwnedDescriptor {
        guard let number = nameless(in: "/dev/shm") ?? nameless(in: "/tmp") else { throw failed("make") }
        let file = OwnedDescriptor(owning: number)
        var written = 0
        while written < bytes.count {
            // Safety: `written` is less than the number of bytes.
            let count = unsafe bytes.withUnsafeBytes { all in
                unsafe write(number, all.baseAddress.map { unsafe $0 + written }, all.count - written)
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw failed("fill") }
            written += count
        }
        return file
    }

    private static func nameless(in directory: String) -> Int32? {
        var template = Array("\(directory)/kura-XXXXXX".utf8CString)
        // Safety: the array ends with a zero, and its length stays what it is.
        let number = unsafe mkstemp(&template)
        guard number >= 0 else { return nil }
        _ = fcntl(number, F_SETFD, FD_CLOEXEC)
        // Safety: as above.
        unsafe unlink(template)
        return number
    }

    private static func failed(_ what: String) -> KuraError {
        KuraError(
            .noSpace, "cannot \(what) a temporary file (error \(errno))", method: "blobs.put",
            advice: "Pass a file that is open already, or write the blob in pieces.")
    }
}
