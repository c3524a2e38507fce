import CSyscalls
import Glibc
import KuraBytes
import KuraProtocol

// Safety: Swift lends paths as C strings for the call; the kernel fills one `stat`, which is ours; `write` gets an address and a count of
// the same bytes.

/// A file that content goes to: it gets its name when all has come, so that what is there stays until then, and nothing is left of it when
/// the command ends before.
///
/// Nothing that has a name is ever opened to be written to: a file is made, or takes another one's name. What else may stand there (a FIFO, a
/// device, a socket, or a link to one) is refused, since whoever may write to the directory decides what it is, and where a link leads. A name of one
/// of the process's own descriptors, such as `/dev/stdout`, stands for that descriptor, as `-` does.
///
/// Until then it has no name at all (O_TMPFILE of open(2)), and goes with the process however that ends. Where the file system has no
/// such files, or /proc does not show what is open, it is a draft beside the other, which a signal that ends the program takes away.
///
/// The directory is held open from the beginning: whatever somebody makes of its path, the file comes to be there, and no other one is removed.
struct DraftFile: ~Copyable {
    let descriptor: Int32
    private let path: String
    private let state: State
    private let replaces: Bool?

    private enum State {
        case asItIs
        case nameless(DraftPlace)
        case named(DraftName, DraftPlace)
    }

    /// It goes where results go.
    var isStandardOutput: Bool { descriptor == STDOUT_FILENO }

    /// It is what a descriptor of the process's has open, or no file.
    var isAnothers: Bool { if case .asItIs = state { true } else { false } }

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
        if let number = number(namedBy: path) { return (try duplicate(number, path), .asItIs) }
        if path == "/dev/null" { return (try null(path), .asItIs) }
        let place = try DraftPlace(path)
        var information = stat()
        if unsafe fstatat(place.directory, place.name, &information, AT_SYMLINK_NOFOLLOW) == 0 {
            let isLink = information.st_mode & S_IFMT == S_IFLNK
            // Where it leads is of interest only to tell it. One that leads nowhere stays what it is.
            if isLink { _ = unsafe fstatat(place.directory, place.name, &information, 0) }
            if let word = word(information.st_mode) {
                throw other(path, (isLink ? "a link to " : "") + word, information.st_mode, replaces)
            }
            guard replaces == true else { throw there(path, replaces) }
        }
        if mayBeNameless {
            let descriptor = unsafe csys_unnamed_file(place.directory, ".", 0o600)
            if descriptor >= 0 {
                if unsafe access("/proc/self/fd/\(descriptor)", F_OK) == 0 { return (descriptor, .nameless(place)) }
                close(descriptor)
            }
        }
        var descriptor: Int32 = -1
        let name = DraftName(beside: place) { name in
            descriptor = unsafe csys_openat(place.directory, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
            return descriptor >= 0
        }
        guard let name else { throw .file("cannot write \(path)") }
        return (descriptor, .named(name, place))
    }

    // MARK: Paths that name no regular file

    /// Whether a path stands for standard output.
    static func namesStandardOutput(_ path: String) -> Bool { number(namedBy: path) == STDOUT_FILENO }

    /// The number of the descriptor that a path stands for; nil when it is another one's.
    private static func number(namedBy path: String) -> Int32? {
        switch path {
        case "-", "/dev/stdout": return STDOUT_FILENO
        case "/dev/stderr": return STDERR_FILENO
        default: break
        }
        for prefix in ["/dev/fd/", "/proc/self/fd/"] where path.hasPrefix(prefix) {
            let rest = path.dropFirst(prefix.count)
            guard let number = Int32(rest), number >= 0, String(number) == rest else { return nil }
            return number
        }
        return nil
    }

    /// A descriptor of our own for the same: to open it by its path would be to open what it has open once more, at its beginning.
    private static func duplicate(_ number: Int32, _ path: String) throws(Failure) -> Int32 {
        guard number != STDOUT_FILENO else { return number }
        let mode = csys_fcntl(number, F_GETFL, 0)
        guard mode < 0 || mode & O_ACCMODE != O_RDONLY else {
            throw .usage("cannot write \(path): it is open for reading alone")
        }
        let descriptor = csys_fcntl(number, F_DUPFD_CLOEXEC, Int(STDERR_FILENO) + 1)
        guard descriptor >= 0 else { throw .file("cannot open \(path)") }
        return descriptor
    }

    /// The null device, and nothing that has taken its place.
    private static func null(_ path: String) throws(Failure) -> Int32 {
        let descriptor = unsafe csys_open(path, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0)
        guard descriptor >= 0 else { throw .file("cannot open \(path)") }
        var information = stat()
        // 1:3 on each Linux.
        guard unsafe fstat(descriptor, &information) == 0, information.st_mode & S_IFMT == S_IFCHR,
            information.st_rdev == 0x103
        else {
            close(descriptor)
            throw .usage("\(path) is not the null device")
        }
        return descriptor
    }

    /// The word for what a path names instead of a regular file; nil for a regular file or a symbolic link.
    private static func word(_ mode: mode_t) -> String? {
        switch mode & S_IFMT {
        case S_IFREG, S_IFLNK: nil
        case S_IFDIR: "a directory"
        case S_IFIFO: "a FIFO"
        case S_IFSOCK: "a socket"
        default: "a device"
        }
    }

    private static func other(_ path: String, _ word: String, _ mode: mode_t, _ replaces: Bool?) -> Failure {
        let hint =
            switch mode & S_IFMT {
            case S_IFDIR: "name a file in it"
            case S_IFIFO where replaces != nil, S_IFCHR where replaces != nil, S_IFBLK where replaces != nil:
                "'-' is standard output, which the shell leads there: kura … - >\(CommandExample.quoted(path))"
            default: "name a new file"
            }
        return .usage("\(path) is \(word), and no file", hint: hint)
    }

    private static func there(_ path: String, _ replaces: Bool?) -> Failure {
        .usage(
            "\(path) is there already",
            hint: replaces == nil
                ? "name a new one" : "--replace has it take the other's place, once all of it has come")
    }

    // MARK: Writing

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

    /// Holds what somebody else has written against what is said of it; what is not made here is not looked at.
    ///
    /// - Parameters:
    ///   - count: how many there are of them, as the reply has it.
    ///   - unit: bytes, or lines.
    /// - Throws: when that is not so, or the reply does not say.
    borrowing func expect(_ count: Int64?, _ unit: Unit) throws(Failure) {
        guard let count else { throw Failure(notPromised: "how much was written") }
        if case .asItIs = state { return }
        let found = try self.count(unit)
        guard found == count else {
            throw Failure(
                status: .noDaemon,
                message: "\(path) was not made: \(found) \(unit.rawValue) have come, and \(count) were announced")
        }
    }

    enum Unit: String { case bytes, lines }

    private borrowing func count(_ unit: Unit) throws(Failure) -> Int64 {
        if unit == .bytes {
            var information = stat()
            guard unsafe fstat(descriptor, &information) == 0 else { throw .file("cannot read \(path)") }
            return Int64(information.st_size)
        }
        var chunk = [UInt8](repeating: 0, count: 256 << 10)
        var (position, lines) = (0, 0)
        while true {
            let count = unsafe pread(descriptor, &chunk, chunk.count, off_t(position))
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw .file("cannot read \(path)") }
            guard count > 0 else { return Int64(lines) }
            position += count
            lines += chunk[..<count].count { $0 == 0x0A }
        }
    }

    /// Has what came since it got its name on the disk, too.
    borrowing func sync() throws(Failure) {
        if case .asItIs = state { return }
        guard fsync(descriptor) == 0 else { throw .file("cannot write \(path)") }
    }

    /// The last bytes of what it has; none where that cannot be read.
    borrowing func tail(_ count: Int) -> [UInt8] {
        var information = stat()
        guard unsafe fstat(descriptor, &information) == 0, information.st_mode & S_IFMT == S_IFREG else { return [] }
        var bytes = [UInt8](repeating: 0, count: count)
        let read = unsafe pread(descriptor, &bytes, count, max(0, information.st_size - off_t(count)))
        return Array(bytes.prefix(max(0, read)))
    }

    /// Gives it its name, when it is on the disk.
    borrowing func finish() throws(Failure) {
        let place: DraftPlace
        switch state {
        case .asItIs: return
        case .nameless(let given), .named(_, let given): place = given
        }
        guard fsync(descriptor) == 0 else { throw .file("cannot write \(path)") }
        if replaces == true { try replace(place) } else { try name(place) }
        guard place.sync() else { throw .file("cannot sync the directory of \(path)") }
    }

    /// In another's place, whatever is there.
    private borrowing func replace(_ place: DraftPlace) throws(Failure) {
        var name: DraftName?
        if case .named(let given, _) = state {
            name = given
        } else {
            // linkat(2) replaces nothing.
            let descriptor = descriptor
            name = DraftName(beside: place) { name in unsafe csys_name_file(descriptor, place.directory, name) == 0 }
        }
        guard let name, name.rename(.overOthers) else { throw .file("cannot write \(path)") }
    }

    /// Where nothing is.
    private borrowing func name(_ place: DraftPlace) throws(Failure) {
        let isDone =
            if case .named(let draft, _) = state { draft.rename(.whereNothingIs) } else {
                unsafe csys_name_file(descriptor, place.directory, place.name) == 0
            }
        guard isDone else { throw errno == EEXIST ? Self.there(path, replaces) : .file("cannot write \(path)") }
    }
}

/// Where a file is to be: a name in a directory, which is held open.
private final class DraftPlace {
    let directory: Int32
    let name: String

    init(_ path: String) throws(Failure) {
        let slash = path.lastIndex(of: "/")
        let last = slash.map { String(path[path.index(after: $0)...]) } ?? path
        // With a slash at its end it is the directory itself.
        name = slash != nil && last.isEmpty ? "." : last
        // To hold it does not take the right to read it.
        directory = unsafe csys_open(
            slash.map { String(path[...$0]) } ?? ".", CSYS_OPEN_PATH | O_DIRECTORY | O_CLOEXEC, 0)
        guard directory >= 0 else { throw .file("cannot write \(path)") }
    }

    deinit { if directory >= 0 { close(directory) } }

    /// The name, too. A directory that may be written and not read cannot be synced, nor can those of some file systems.
    /// - Returns: false with errno when it failed.
    func sync() -> Bool {
        let opened = unsafe csys_openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0)
        guard opened >= 0 else { return errno == EACCES }
        defer { close(opened) }
        return fsync(opened) == 0 || errno == EINVAL || errno == EROFS
    }
}

/// A name beside a file's own, which goes with its owner, and when a signal ends the program. It is one that nothing else had.
private final class DraftName {
    enum Manner { case overOthers, whereNothingIs }

    private let place: DraftPlace
    private let name: String
    private let isDoomed: Bool
    /// What has the name is ours.
    private var isOurs = true

    /// `make`: gives a file a name, as long as nothing has it; false with errno.
    init?(beside place: DraftPlace, _ make: (String) -> Bool) {
        var name = ""
        var isMade = false
        // Whoever finds a name taken tries another one.
        for _ in 0..<8 where !isMade {
            name = "\(place.name).\(String(UInt64.random(in: 0 ... .max), radix: 36)).part"
            isMade = make(name)
            if !isMade, errno != EEXIST { break }
        }
        guard isMade else { return nil }
        (self.place, self.name) = (place, name)
        isDoomed = unsafe csys_unlink_when_ended(place.directory, name) == 0
    }

    deinit {
        if isDoomed { csys_unlink_when_ended(0, nil) }
        if isOurs { unsafe unlinkat(place.directory, name, 0) }
    }

    /// Gives the file its own name.
    /// - Returns: false with errno.
    func rename(_ manner: Manner) -> Bool {
        let isDone =
            switch manner {
            case .overOthers: unsafe renameat(place.directory, name, place.directory, place.name) == 0
            case .whereNothingIs: renameWhereNothingIs()
            }
        if isDone { isOurs = false }
        return isDone
    }

    private func renameWhereNothingIs() -> Bool {
        if unsafe csys_rename_new(place.directory, name, place.directory, place.name) == 0 { return true }
        guard errno == EINVAL || errno == ENOSYS else { return false }
        // A file system that cannot tell: looked at once more instead.
        var information = stat()
        guard unsafe fstatat(place.directory, place.name, &information, AT_SYMLINK_NOFOLLOW) != 0 else {
            errno = EEXIST
            return false
        }
        return unsafe renameat(place.directory, name, place.directory, place.name) == 0
    }
}

extension Console {
    /// Writes a file whole; what is for standard output goes where results go.
    func write(_ bytes: [UInt8], to draft: borrowing DraftFile) throws(Failure) {
        if draft.isStandardOutput { return print(raw: bytes) }
        try bytes.withBytes { (bytes) throws(Failure) in try draft.write(bytes) }
        try draft.finish()
    }
}
