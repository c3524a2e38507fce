import Glibc
import KuraBytes
import KuraProtocol
import Sodium

/// The file that the daemon reads: its descriptor goes along with a request. Closed with its owner.
struct OpenFile: ~Copyable {
    let descriptor: Int32?

    /// - Parameters:
    ///   - path: `-` is standard input; nil: there is none.
    ///   - isRegular: the daemon takes a regular file alone: what else is read here is copied to one that nobody sees.
    /// - Throws: a usage failure when it cannot be opened, or be copied.
    init(_ path: String?, isRegular: Bool = false) throws(Failure) {
        guard let path else {
            descriptor = nil
            return
        }
        let opened: Int32
        if path == "-" {
            opened = STDIN_FILENO
        } else {
            // Safety: Swift lends the path as a C string for the call.
            opened = unsafe open(path, O_RDONLY | O_CLOEXEC)
            guard opened >= 0 else { throw .file("cannot open \(path)") }
        }
        guard isRegular, !Self.isRegular(opened) else {
            descriptor = opened
            return
        }
        defer { if opened > STDERR_FILENO { close(opened) } }
        guard !Self.isEndless(opened) else {
            throw .usage("cannot read \(path): it is a device, which may have no end")
        }
        descriptor = try Self.copied(opened, path)
    }

    /// Opens what has to be a regular file: nobody waits for the other end of a FIFO.
    init(regular path: String) throws(Failure) {
        // Safety: Swift lends the path as a C string for the call.
        let opened = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard opened >= 0 else { throw .file("cannot read \(path)") }
        guard Self.isRegular(opened) else {
            close(opened)
            throw .usage("cannot read \(path): it is no regular file")
        }
        descriptor = opened
    }

    deinit {
        if let descriptor, descriptor > STDERR_FILENO { close(descriptor) }
    }

    /// - Throws: when it belongs to somebody else than root and oneself, or others can write to it.
    borrowing func expectTrust(_ path: String) throws(Failure) {
        guard let descriptor else { return }
        var information = stat()
        // Safety: the kernel fills one `stat`, which is ours.
        guard unsafe fstat(descriptor, &information) == 0 else { throw .file("cannot read \(path)") }
        guard information.st_uid == 0 || information.st_uid == geteuid() else {
            throw .usage("\(path) belongs to user \(information.st_uid): it has to be root's or one's own")
        }
        guard information.st_mode & (S_IWGRP | S_IWOTH) == 0 else {
            throw .usage("\(path) can be written by its group or by others: chmod go-w")
        }
    }

    fileprivate static func isRegular(_ descriptor: Int32) -> Bool {
        var information = stat()
        // Safety: the kernel fills one `stat`, which is ours.
        return unsafe fstat(descriptor, &information) == 0 && information.st_mode & S_IFMT == S_IFREG
    }

    /// A device of characters, other than a terminal and `/dev/null`.
    static func isEndless(_ descriptor: Int32) -> Bool {
        var information = stat()
        // Safety: the kernel fills one `stat`, which is ours.
        guard unsafe fstat(descriptor, &information) == 0 else { return false }
        // 1:3 is the null device on each Linux.
        return information.st_mode & S_IFMT == S_IFCHR && isatty(descriptor) == 0 && information.st_rdev != 0x103
    }

    /// What is read from a descriptor to its end, in a file without a name.
    private static func copied(_ source: Int32, _ path: String) throws(Failure) -> Int32 {
        let target = try NamelessFile.make(in: SocketPath.environment("TMPDIR") ?? "/tmp")
        do throws(Failure) { try copy(source, to: target, path) } catch {
            close(target)
            throw error
        }
        lseek(target, 0, SEEK_SET)
        return target
    }

    /// Copies what can be read from one descriptor to another, `limit` bytes at most.
    /// - Returns: how many that were.
    /// - Throws: a usage failure that names the file.
    @discardableResult
    static func copy(
        _ source: Int32, to target: Int32, _ path: String, atMost limit: Int = .max
    ) throws(Failure) -> Int {
        var chunk = [UInt8](repeating: 0, count: 256 << 10)
        var left = limit
        while left > 0 {
            // Safety: no more bytes than the array has.
            let count = unsafe read(source, &chunk, min(chunk.count, left))
            if count == 0 { break }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw .file("cannot read \(path)") }
            left -= count
            var rest = chunk[..<count]
            while !rest.isEmpty {
                // Safety: an address and a count of the same bytes.
                let written = rest.withBytes { unsafe Glibc.write(target, $0.baseAddress, $0.count) }
                if written < 0, errno == EINTR { continue }
                guard written > 0 else { throw .file("cannot write \(path)") }
                rest = rest.dropFirst(written)
            }
        }
        return limit - left
    }
}

/// What came with a reply as a descriptor. Closed with its owner.
struct ReceivedFile: ~Copyable {
    private let descriptor: Int32

    /// - Throws: when none came, or it is no file: a pipe may never end, and a device fills the disk.
    init(_ descriptor: Int32?) throws(Failure) {
        guard let descriptor else { throw Failure(status: .noDaemon, message: "the reply came without its descriptor") }
        guard OpenFile.isRegular(descriptor) else {
            close(descriptor)
            throw Failure(status: .noDaemon, message: "the reply came with a descriptor that is no file")
        }
        self.descriptor = descriptor
    }

    deinit { close(descriptor) }

    /// Reads all of it, wherever it stands: the daemon that has passed it has not.
    /// - Throws: as for the daemon's `integrity` when it is not what the reply's digest says; also when the reply has none.
    borrowing func expect(_ digest: String?, _ verb: Verb) throws(Failure) {
        guard let digest else { throw Failure(notPromised: "which digest the content has") }
        var hash = GenericHash()
        var chunk = [UInt8](repeating: 0, count: 256 << 10)
        var position: off_t = 0
        while true {
            // Safety: no more bytes than the array has.
            let count = unsafe pread(descriptor, &chunk, chunk.count, position)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw .file("cannot read the content") }
            guard count > 0 else { break }
            chunk[..<count].withBytes { hash.update($0) }
            position += off_t(count)
        }
        let digits = Array("0123456789abcdef".utf8)
        let found = hash.finish().flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
        guard found != Array(digest.utf8) else { return }
        throw Failure(
            status: ExitCode.of(.integrity),
            message: "integrity: the content is damaged: it is not what its digest says, and nothing of it was written",
            hint: verb.method.name == "blobs.get"
                ? "--verify has the daemon forget it" : "'kura storage check' has the daemon tell of it")
    }

    /// Writes it to another, from where it stands on: as many bytes as the reply names.
    /// - Throws: also when there are fewer, or the reply names none.
    borrowing func copy(to target: Int32, _ path: String, bytes: Int64?) throws(Failure) {
        guard let bytes else { throw Failure(notPromised: "how many bytes the content has") }
        let count = try OpenFile.copy(descriptor, to: target, path, atMost: Int(clamping: max(0, bytes)))
        guard count == bytes else {
            throw Failure(
                status: .noDaemon, message: "the content has \(count) bytes, and is to have \(bytes): it is not whole")
        }
    }
}
