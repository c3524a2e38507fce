import CSyscalls
import Glibc
import KuraBytes
import KuraProtocol

// Safety: Swift lends paths as C strings for the call; the kernel fills one `stat`, which is ours; `write` gets an address and a count of
// the same bytes.

/// A file that content goes to: it gets its name when all has come, so that what is there stays until then, and nothing is left of it when
/// the command ends before. What is no regular file, such as a terminal or a pipe, is written to as it is.
///
/// Until then it has no name at all (O_TMPFILE of open(2)), and goes with the process however that ends. Where the file system has no
/// such files, or /proc does not show what is open, it is a draft beside the other, which a signal that ends the program takes away.
struct DraftFile: ~Copyable {
    let descriptor: Int32
    private let path: String
    private let state: State
    private let replaces: Bool?

    private enum State {
        case asItIs, nameless
        case named(DraftName)
    }

    /// It goes where results go.
    var isStandardOutput: Bool { descriptor == STDOUT_FILENO }

    /// - Parameters:
    ///   - path: `-` is standard output.
    ///   - replaces: it may take another file's place; nil: never, whatever is asked for.
    ///   - mayBeNameless: false has it be a draft with a name everywhere.
    /// - Throws: a usage failure when a file is there already, or none can be made.
    init(_ path: String, replaces: Bool?, mayBeNameless: Bool = true) throws(Failure) {
        (descriptor, state) = try Self.open(path, replaces, mayBeNameless)
        self.path = path
        self.replaces = replaces
    }

    deinit {
        if descriptor > STDERR_FILENO { close(descriptor) }
    }

    private static func open(
        _ path: String, _ replaces: Bool?, _ mayBeNameless: Bool
    ) throws(Failure) -> (Int32, State) {
        guard path != "-" else { return (STDOUT_FILENO, .asItIs) }
        var information = stat()
        let isThere = unsafe stat(path, &information) == 0
        if isThere, information.st_mode & S_IFMT != S_IFREG {
            let descriptor = unsafe Glibc.open(path, O_WRONLY | O_CLOEXEC)
            guard descriptor >= 0 else { throw .file("cannot open \(path)") }
            return (descriptor, .asItIs)
        }
        guard !isThere || replaces == true else { throw there(path, replaces) }
        if mayBeNameless {
            let descriptor = unsafe csys_unnamed_file(directory(of: path), 0o600)
            if descriptor >= 0 {
                if unsafe access("/proc/self/fd/\(descriptor)", F_OK) == 0 { return (descriptor, .nameless) }
                close(descriptor)
            }
        }
        let name = DraftName(beside: path)
        let descriptor = unsafe Glibc.open(name.path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw .file("cannot write \(path)") }
        return (descriptor, .named(name))
    }

    private static func there(_ path: String, _ replaces: Bool?) -> Failure {
        .usage(
            "\(path) is there already",
            hint: replaces == nil
                ? "name a new one" : "--replace has it take the other's place, once all of it has come")
    }

    private static func directory(of path: String) -> String {
        path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
    }

    /// Adds to its content.
    borrowing func write(_ bytes: Bytes) throws(Failure) {
        var rest = bytes
        while !rest.isEmpty {
            let count = unsafe Glibc.write(descriptor, rest.baseAddress, rest.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw .file("cannot write \(path)") }
            rest = rest.extracting(count..<rest.count)
        }
    }

    /// Gives it its name, when it is on the disk.
    borrowing func finish() throws(Failure) {
        if case .asItIs = state { return }
        guard fsync(descriptor) == 0 else { throw .file("cannot write \(path)") }
        if replaces == true { try replace() } else { try name() }
        try syncDirectory()
    }

    /// In another's place, whatever is there.
    private borrowing func replace() throws(Failure) {
        let name: DraftName
        if case .named(let given) = state {
            name = given
        } else {
            // linkat(2) replaces nothing.
            name = DraftName(beside: path)
            guard unsafe csys_name_file(descriptor, name.path) == 0 else { throw .file("cannot write \(path)") }
        }
        guard unsafe rename(name.path, path) == 0 else { throw .file("cannot write \(path)") }
    }

    /// Where nothing is.
    private borrowing func name() throws(Failure) {
        guard case .named(let draft) = state else {
            guard unsafe csys_name_file(descriptor, path) == 0 else {
                throw errno == EEXIST ? Self.there(path, replaces) : .file("cannot write \(path)")
            }
            return
        }
        guard unsafe link(draft.path, path) != 0 else { return }
        switch errno {
        case EEXIST: throw Self.there(path, replaces)
        // A file system without links, such as FAT: looked at once more instead.
        case EPERM, EOPNOTSUPP:
            guard unsafe access(path, F_OK) != 0 else { throw Self.there(path, replaces) }
            guard unsafe rename(draft.path, path) == 0 else { throw .file("cannot write \(path)") }
        default: throw .file("cannot write \(path)")
        }
    }

    /// The name, too. A directory that may be written and not read cannot be synced, nor can those of some file systems.
    private borrowing func syncDirectory() throws(Failure) {
        let directory = unsafe Glibc.open(Self.directory(of: path), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        if directory < 0, errno == EACCES { return }
        guard directory >= 0 else { throw .file("cannot sync the directory of \(path)") }
        defer { close(directory) }
        guard fsync(directory) == 0 || errno == EINVAL || errno == EROFS else {
            throw .file("cannot sync the directory of \(path)")
        }
    }
}

/// A name beside a file's own, which goes with its owner, and when a signal ends the program.
private final class DraftName {
    let path: String
    private let isDoomed: Bool

    init(beside path: String) {
        self.path = "\(path).\(String(UInt32.random(in: 0 ... .max), radix: 36)).part"
        isDoomed = unsafe csys_unlink_when_ended(self.path) == 0
    }

    deinit {
        // Gone when the file has its own.
        unsafe unlink(path)
        if isDoomed { csys_unlink_when_ended(nil) }
    }
}

extension Console {
    /// Writes a file whole; what is for standard output goes where results go.
    func write(_ bytes: [UInt8], to draft: borrowing DraftFile) throws(Failure) {
        if draft.isStandardOutput { return output.write(bytes) }
        try bytes.withBytes { (bytes) throws(Failure) in try draft.write(bytes) }
        try draft.finish()
    }
}
