import CSyscalls
import Glibc
import KuraBytes
import KuraClient
import KuraProtocol

// Safety: Swift lends paths as C strings for the call; addresses and counts are of the same bytes.

/// What this user has changed with `kura` lately, at one socket: `kura undo` alone undoes the last of it.
///
/// A file that lines are appended to, a few words each: no names and no values. Nothing depends on it: what cannot be written is not remembered.
struct UndoMemory {
    /// One command's change.
    struct Entry: Equatable {
        /// 0 for what no revision of settings and documents tells, as with secrets and blobs.
        let rev: Int64
        /// When the command began and had its answer, milliseconds since 1970: the revision is its own when it was written meanwhile.
        let from: Int64
        let to: Int64
        /// The method that was called.
        let method: String
        /// It wrote more than this revision, or may have.
        let hasOthers: Bool

        /// Clocks of the loop's turn and of the command are the same one; a turn may have begun before the command did.
        func isOwn(_ changedAt: Int64) -> Bool { changedAt >= from - 50 && changedAt <= to + 5 }
    }

    /// Bytes at which the older half goes.
    private static let mostBytes = 64 << 10
    private let path: String
    /// The directories that the file needs, outermost first. A missing one is created.
    private let directories: [String]
    private let socket: String

    /// Nil where there is no place for it: `KURA_UNDO_FILE` is empty, or there is no home directory.
    init?(_ environment: (String) -> String?, socket: String) {
        guard !socket.utf8.contains(where: { $0 < 0x20 }) else { return nil }
        self.socket = socket.hasPrefix("/") ? socket : Self.absolute(socket)
        if let given = environment("KURA_UNDO_FILE") {
            guard !given.isEmpty else { return nil }
            (path, directories) = (given, [])
        } else if let state = environment("XDG_STATE_HOME"), state.hasPrefix("/") {
            (path, directories) = (state + "/kura/undo", [state, state + "/kura"])
        } else if let home = environment("HOME"), home.hasPrefix("/") {
            directories = ["/.local", "/.local/state", "/.local/state/kura"].map { home + $0 }
            path = home + "/.local/state/kura/undo"
        } else {
            return nil
        }
    }

    private static func absolute(_ path: String) -> String {
        guard let directory = unsafe getcwd(nil, 0) else { return path }
        defer { unsafe free(directory) }
        return unsafe String(cString: directory) + "/" + path
    }

    /// Milliseconds since 1970.
    static func now() -> Int64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }

    // MARK: Writing

    /// Notes what a write was answered with, unless it has changed nothing.
    func note(_ method: Method, _ params: [UInt8], _ result: [UInt8], from: Int64) {
        let isUndone = method.store == .transaction || Method.Store.all(.clear).contains(method.store)
        guard isUndone || Method.Store.all(.sealed, .cached).contains(method.store), let reply = JSONObject(result),
            reply.boolean("dryRun") != true, JSONObject(params)?.boolean("dryRun") != true, Self.hasChanged(reply)
        else { return }
        let isLasting = !isUndone || reply["purged"] != nil
        let rev = isLasting ? 0 : reply.integer("rev") ?? 0
        let hasOthers =
            (reply.integer("slices") ?? 1) > 1 || (reply.integer("imported") ?? 0) > 1 && reply["offset"] != nil
        append("did\t\(rev)\t\(from)\t\(Self.now())\t\(method.name)\(hasOthers ? "+" : "")")
    }

    /// A reply that counts what was changed, or says whether, and has nothing of it.
    private static func hasChanged(_ reply: JSONObject) -> Bool {
        let told = ["changed", "added", "removed", "deleted", "restored", "dropped", "imported", "undone"].compactMap {
            name in
            reply.boolean(name) ?? reply.integer(name).map { $0 > 0 }
        }
        return told.isEmpty || told.contains(true)
    }

    /// Notes that revision `other` undid revision `rev`: neither is listed any more.
    func note(undone rev: Int64, by other: Int64) { append("undid\t\(rev)\t\(other)") }

    /// A revision has turned out to be somebody else's.
    func forget(_ rev: Int64) { note(undone: rev, by: 0) }

    private func append(_ line: String) {
        for directory in directories where unsafe access(directory, F_OK) != 0 { unsafe mkdir(directory, 0o700) }
        let flags = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK
        let descriptor = unsafe open(path, flags, 0o600)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        var information = stat()
        guard unsafe fstat(descriptor, &information) == 0, information.st_mode & S_IFMT == S_IFREG else { return }
        let text = Array("\(line)\t\(socket)\n".utf8)
        // In one piece, so that commands at the same time do not mix.
        _ = text.withBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
        if information.st_size > Self.mostBytes { forgetOlder() }
    }

    private func forgetOlder() {
        let lines = self.lines
        let draft = path + ".\(getpid())"
        let descriptor = unsafe open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { return }
        let text = Array((lines.suffix(lines.count / 2).joined(separator: "\n") + "\n").utf8)
        let written = text.withBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
        close(descriptor)
        let isKept = unsafe written == text.count && rename(draft, path) == 0
        if !isKept { unsafe unlink(draft) }
    }

    // MARK: Reading

    /// What can be undone, the newest first.
    var entries: [Entry] {
        var entries: [Entry] = []
        for line in lines {
            let parts = line.split(separator: "\t", omittingEmptySubsequences: false)
            guard let place = parts.last, place == socket else { continue }
            let numbers = parts.dropFirst().map { Int64($0) }
            if parts.count == 6, parts[0] == "did", let rev = numbers[0], let from = numbers[1], let to = numbers[2] {
                entries.removeAll { $0.rev == rev && rev > 0 }
                let method = parts[4].prefix { $0 != "+" }
                entries.append(
                    Entry(
                        rev: rev, from: from, to: to, method: String(method), hasOthers: method.count < parts[4].count))
            } else if parts.count == 4, parts[0] == "undid", let rev = numbers[0], let other = numbers[1] {
                entries.removeAll { $0.rev == rev || $0.rev == other }
            }
        }
        return entries.reversed()
    }

    private var lines: [Substring] {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW)
        guard descriptor >= 0 else { return [] }
        defer { close(descriptor) }
        var text = [UInt8](repeating: 0, count: 2 * Self.mostBytes)
        let count = unsafe text.withUnsafeMutableBytes { unsafe read(descriptor, $0.baseAddress, $0.count) }
        return String(decoding: text.prefix(max(0, count)), as: UTF8.self).split(separator: "\n")
    }
}
