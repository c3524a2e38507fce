import Glibc
import KuraProtocol

// Safety: Swift lends paths as C strings for the call; the kernel fills one `stat`, which is ours.

/// A file that content goes to: a draft beside it, which gets its name when all has come, so that what is there stays until then.
/// What is no regular file, such as a terminal or a pipe, is written to as it is.
struct DraftFile: ~Copyable {
    let descriptor: Int32
    private let path: String
    /// Nil: it is written to as it is.
    private let draft: String?
    private let replaces: Bool

    /// - Parameters:
    ///   - path: `-` is standard output.
    ///   - replaces: it may take another file's place.
    /// - Throws: a usage failure when a file is there already, or none can be made.
    init(_ path: String, replaces: Bool) throws(Failure) {
        let (descriptor, draft) = try Self.open(path, replaces)
        self.descriptor = descriptor
        self.draft = draft
        self.path = path
        self.replaces = replaces
    }

    deinit {
        if descriptor > STDERR_FILENO { close(descriptor) }
        // Gone when the file has its name.
        if let draft { unsafe unlink(draft) }
    }

    private static func open(_ path: String, _ replaces: Bool) throws(Failure) -> (Int32, String?) {
        guard path != "-" else { return (STDOUT_FILENO, nil) }
        var information = stat()
        let isThere = unsafe stat(path, &information) == 0
        if isThere, information.st_mode & S_IFMT != S_IFREG {
            let descriptor = unsafe Glibc.open(path, O_WRONLY | O_CLOEXEC)
            guard descriptor >= 0 else { throw .file("cannot open \(path)") }
            return (descriptor, nil)
        }
        guard !isThere || replaces else { throw there(path) }
        let draft = path + ".\(getpid()).part"
        let descriptor = unsafe Glibc.open(draft, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw .file("cannot write \(path)") }
        return (descriptor, draft)
    }

    private static func there(_ path: String) -> Failure {
        .usage("\(path) is there already", hint: "--replace has it take the other's place, once all of it has come")
    }

    /// Gives it its name.
    borrowing func finish() throws(Failure) {
        guard let draft else { return }
        guard fsync(descriptor) == 0 else { throw .file("cannot write \(path)") }
        if replaces {
            guard unsafe rename(draft, path) == 0 else { throw .file("cannot write \(path)") }
        } else if unsafe link(draft, path) != 0 {
            switch errno {
            case EEXIST: throw Self.there(path)
            // A file system without links, such as FAT: looked at once more instead.
            case EPERM, EOPNOTSUPP:
                guard unsafe access(path, F_OK) != 0 else { throw Self.there(path) }
                guard unsafe rename(draft, path) == 0 else { throw .file("cannot write \(path)") }
            default: throw .file("cannot write \(path)")
            }
        }
    }
}
