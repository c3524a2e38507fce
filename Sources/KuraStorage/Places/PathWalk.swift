import CSyscalls
import Glibc
import KuraBytes

// Safety: Swift lends paths and names as C strings for a call; `readlinkat` and `getcwd` get buffers with their lengths.

/// Opens a directory by its path, part by part, and looks at each directory that the path leads through: whoever may rename what is in one of
/// them says where the path leads.
///
/// Links are followed by hand, so that what they lead through is looked at too. To root every directory on the way has to be root's own, and
/// writable by nobody else unless it is sticky: root would write, rename and remove at somebody else's bidding. Its group may write, as with a
/// socket's directory. Other users go where they may.
struct PathWalk: ~Copyable {
    private var directory: OpenDirectory
    /// What is still to be walked, the next part last.
    private var rest: [String]
    private var links = 0
    private let isRoot: Bool

    /// As the kernel's own (MAXSYMLINKS).
    private static let mostLinks = 40

    /// Walks a path to its end.
    /// `isMaking`: directories that are missing are made, for their owner alone.
    /// - Returns: nil when one is missing.
    /// - Throws: `refused` when root must not go there.
    static func directory(
        _ path: String, isMaking: Bool, isRoot: Bool = geteuid() == 0
    ) throws(StorageFault) -> OpenDirectory? {
        let parts = try parts(from: path)
        var walk = PathWalk(directory: try OpenDirectory("/"), rest: parts, isRoot: isRoot)
        while let name = walk.rest.popLast() {
            guard try walk.step(name, isMaking: isMaking) else { return nil }
        }
        return try walk.end()
    }

    private init(directory: consuming OpenDirectory, rest: [String], isRoot: Bool) {
        self.directory = directory
        self.rest = rest
        self.isRoot = isRoot
    }

    /// All of a path from the root on, the last part first.
    private static func parts(from path: String) throws(StorageFault) -> [String] {
        guard !path.hasPrefix("/") else { return parts(path) }
        // The kernel names it without links.
        guard let current = unsafe getcwd(nil, 0) else { throw FileSystem.fail("getcwd", ".") }
        defer { unsafe free(current) }
        return parts(path) + parts(unsafe String(cString: current))
    }

    private static func parts(_ path: String) -> [String] {
        path.split(separator: "/").filter { $0 != "." }.map(String.init).reversed()
    }

    /// - Returns: false when it is missing.
    private mutating func step(_ name: String, isMaking: Bool) throws(StorageFault) -> Bool {
        try look()
        guard let information = directory.information(of: name) else {
            guard errno == ENOENT else { throw FileSystem.fail("stat", directory.path(of: name)) }
            guard isMaking else { return false }
            _ = try directory.make(name)
            // As somebody else may have made it: a link is refused, and the next step looks at the rest.
            directory = try directory.open(name, isPassedThrough: true)
            return true
        }
        guard information.st_mode & S_IFMT == S_IFLNK else {
            directory = try directory.open(name, isPassedThrough: true)
            return true
        }
        if isRoot, information.st_uid != 0 {
            throw refusal(directory.path(of: name), "belongs to user \(information.st_uid)", information.st_uid)
        }
        links += 1
        guard links <= Self.mostLinks else {
            throw .system(errno: ELOOP, call: "open", path: directory.path(of: name))
        }
        let target = try target(of: name)
        rest += Self.parts(target)
        if target.hasPrefix("/") { directory = try OpenDirectory("/") }
        return true
    }

    private func target(of name: String) throws(StorageFault) -> String {
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = unsafe readlinkat(directory.descriptor, name, &buffer, buffer.count)
        guard count >= 0 else { throw FileSystem.fail("readlink", directory.path(of: name)) }
        return String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// Root goes on only where nobody else says what is there.
    private func look() throws(StorageFault) {
        guard isRoot else { return }
        guard let information = directory.information() else { throw FileSystem.fail("stat", directory.path) }
        guard information.st_uid == 0 else {
            throw refusal(directory.path, "belongs to user \(information.st_uid)", information.st_uid)
        }
        guard information.st_mode & S_IWOTH == 0 || information.st_mode & S_ISVTX != 0 else {
            throw .refused(
                "\(directory.path) can be written by everybody, so that root would write where others lead it: "
                    + "chmod o-w \(ShellWord.quoted(directory.path)), "
                    + "or name another --data-dir")
        }
    }

    private func refusal(_ path: String, _ why: String, _ user: uid_t) -> StorageFault {
        .refused(
            "\(path) \(why), who could lead root elsewhere: sudo -u '#\(user)' kurad restore …, or name another --data-dir, "
                + "in a directory of root's")
    }

    /// Opens what the path has led to for reading, which syncing takes.
    private consuming func end() throws(StorageFault) -> OpenDirectory {
        try look()
        return try OpenDirectory(reopening: directory.descriptor, path: directory.path)
    }
}
