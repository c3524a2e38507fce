import CSyscalls
package import Glibc
import KuraBytes

// Safety: Swift lends paths and names as C strings for a call; `readlinkat` and `getcwd` get buffers with their lengths.

/// Opens a directory by its path, part by part, and looks at each directory that the path leads through: whoever may rename what is in one of
/// them says where the path leads.
///
/// Links are followed by hand, so that what they lead through is looked at too. To root every directory on the way has to be root's own, and
/// writable by nobody else unless it is sticky: root would write, rename and remove at somebody else's bidding. Its group may write, as with a
/// socket's directory. Other users go where they may, and are told of strangers on the way to their data directory. Whoever has the directory
/// of all others is trusted: in a user namespace the host's root is a stranger by his number.
package struct PathWalk: ~Copyable {
    private var directory: OpenDirectory
    /// What is still to be walked, the next part last.
    private var rest: [String]
    private var links = 0
    /// Users who may say what lies on the way; nil: nobody asks.
    private let trusted: [uid_t]?
    /// The first who is not one of them ends the walk, and is not refused.
    private let isTelling: Bool
    private var stranger: Stranger?

    /// As the kernel's own (MAXSYMLINKS).
    private static let mostLinks = 40

    /// Walks a path to its end.
    /// `isMaking`: directories that are missing are made, for their owner alone.
    /// - Returns: nil when one is missing.
    /// - Throws: `refused` when root must not go there.
    static func directory(
        _ path: String, isMaking: Bool, isRoot: Bool = geteuid() == 0
    ) throws(StorageFault) -> OpenDirectory? {
        var walk = try PathWalk(path, trusted: isRoot ? [0] : nil, isTelling: false)
        while let name = walk.rest.popLast() {
            guard try walk.step(name, isMaking: isMaking) else { return nil }
        }
        try walk.look()
        // For reading, which syncing takes.
        return try OpenDirectory(reopening: walk.directory.descriptor, path: walk.directory.path)
    }

    /// Who, besides root and `user`, could exchange a directory or a link on the way to a path, as far as that is there; nil when nobody could.
    package static func stranger(along path: String, for user: uid_t) throws(StorageFault) -> Stranger? {
        var walk = try PathWalk(path, trusted: [0, user], isTelling: true)
        while walk.stranger == nil, let name = walk.rest.popLast() {
            guard try walk.step(name, isMaking: false) else { return walk.stranger }
        }
        if walk.stranger == nil { try walk.look() }
        return walk.stranger
    }

    /// Looks at the way to the data directory that a daemon starts in.
    /// - Throws: `refused` when somebody else could lead root elsewhere. Other users are told.
    static func checkWay(to dataDirectory: String, report: (String) -> Void) throws(StorageFault) {
        let (parent, user) = (Self.parent(of: dataDirectory), geteuid())
        if user == 0 {
            if let found = try stranger(along: parent, for: user) { throw found.refusal("kurad …") }
        } else if let found = try? stranger(along: parent, for: user) {
            report("\(found.words), so that others could put another directory in the place of \(dataDirectory)")
        }
    }

    /// The directory that a path names something in.
    package static func parent(of path: String) -> String {
        var path = path
        while path.count > 1, path.hasSuffix("/") { path.removeLast() }
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    private init(_ path: String, trusted: [uid_t]?, isTelling: Bool) throws(StorageFault) {
        let root = try OpenDirectory("/")
        let owner = root.information()?.st_uid ?? 0
        let parts = try Self.parts(from: path)
        rest = parts
        self.trusted = trusted.map { $0 + [owner] }
        self.isTelling = isTelling
        directory = root
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
        if let trusted, !trusted.contains(information.st_uid) {
            try meet(Stranger(path: directory.path(of: name), user: information.st_uid))
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

    /// Goes on only where nobody else says what is there.
    private mutating func look() throws(StorageFault) {
        guard let trusted else { return }
        guard let information = directory.information() else { throw FileSystem.fail("stat", directory.path) }
        if !trusted.contains(information.st_uid) {
            try meet(Stranger(path: directory.path, user: information.st_uid))
        } else if information.st_mode & S_IWOTH != 0, information.st_mode & S_ISVTX == 0 {
            try meet(Stranger(path: directory.path, user: nil))
        }
    }

    private mutating func meet(_ found: Stranger) throws(StorageFault) {
        guard isTelling else { throw found.refusal("kurad restore …") }
        stranger = stranger ?? found
    }
}

/// Who could exchange what lies in a directory, or what a link leads to.
package struct Stranger {
    var path: String
    /// Nil for everybody.
    var user: uid_t?

    package var words: String { user.map { "\(path) belongs to user \($0)" } ?? "\(path) can be written by everybody" }

    /// `command`: what this user would run.
    package func refusal(_ command: String) -> StorageFault {
        guard let user else {
            return .refused(
                "\(words), so that root would write where others lead it: chmod o-w \(ShellWord.quoted(path)), "
                    + "or name another --data-dir")
        }
        return .refused(
            "\(words), who could lead root elsewhere: sudo -u '#\(user)' \(command), or name another --data-dir, "
                + "in a directory of root's")
    }
}
