import KuraBytes
import SQLite
import Synchronization

/// Damage that anything has met while the daemon serves: a read, a query, a backup, the feed, a fold, a check.
///
/// Noted once for each file and kind, then counted: `takeNews` has each once, for the log, and `entries` all, for `storage.status`. From any
/// thread.
public final class DamageBook: Sendable {
    public enum Kind: String, Sendable {
        /// It is not what was written there.
        case damaged
        /// The disk does not give it, or it is gone.
        case unreadable
    }

    public struct Entry: Sendable, Equatable {
        /// Below the data directory.
        public var file: String
        public var kind: Kind
        /// Times that it was met since the start.
        public var count: Int
        /// Milliseconds since 1970.
        public var firstAt: Int64
        public var lastAt: Int64
        public var reason: String
    }

    /// What a look through everything has found.
    public struct Problem: Equatable, Sendable {
        public enum What: String, Sendable, CaseIterable {
            /// A table of kura.sqlite that is not the documents'.
            case table
            /// Documents of a collection; all of them are if the place is `documents`.
            case collection
            case segment, cache, blob, attachment
            /// A file that belongs to nothing.
            case orphan
            case secret
        }
        public var what: What
        /// A file below the data directory, a collection, a digest.
        public var place: String
        public var text: String

        public init(what: What, place: String, text: String) {
            (self.what, self.place, self.text) = (what, place, text)
        }
    }

    public enum News: Sendable {
        case found(Entry, help: String)
        /// What a check has found that somebody asked for.
        case problem(Problem)
        case checked(problems: Int)
    }

    private struct State {
        var entries: [Entry] = []
        var news: [News] = []
        var help = ""
        var observer: DamageWatch.Observer?
    }

    private let state = Guarded(State())
    /// So that a turn without any takes no lock.
    private let hasNews = Atomic<Bool>(false)
    private let configuration: StorageConfiguration
    private let housekeeper: Housekeeper
    private let boot: Boot
    private let wake: @Sendable () -> Void

    /// Files that are kept apart; more than there are kinds of them.
    static let mostEntries = 64
    /// Problems of a check that are told one by one.
    static let mostProblems = 20

    init(
        _ configuration: StorageConfiguration, housekeeper: Housekeeper, boot: Boot,
        wake: @escaping @Sendable () -> Void
    ) {
        (self.configuration, self.housekeeper, self.boot, self.wake) = (configuration, housekeeper, boot, wake)
    }

    /// From here on whatever a connection meets is noted.
    func begin() {
        let observer = DamageWatch.observe(configuration.dataDirectory) { [weak self] path, error in
            self?.note(path, error)
        }
        state.withLock { $0.observer = observer }
    }

    func end() { state.withLock { $0.observer = nil } }

    private func note(_ path: String, _ error: SQLiteError) {
        let file = String(path.dropFirst(configuration.dataDirectory.count + 1))
        // Caches are dropped and said so; what lies in tmp are copies.
        guard file.hasPrefix("durable/") || file.hasPrefix("log/") else { return }
        note(
            file: file, error.isCorrupt ? .damaged : .unreadable,
            error.isGone ? "it is not there" : error.description)
    }

    /// The content of an attachment is not what was stored, or is gone.
    public func note(content digest: ContentDigest) {
        let path = AttachmentFiles.path(digest, configuration)
        note(
            file: String(path.dropFirst(configuration.dataDirectory.count + 1)), .damaged,
            "it is not what its name says, or is gone")
    }

    /// `file`: below the data directory.
    public func note(file: String, _ kind: Kind, _ reason: String) {
        let now = configuration.clock.wall
        let entry: Entry? = state.withLock { state in
            if let position = state.entries.firstIndex(where: { $0.file == file && $0.kind == kind }) {
                state.entries[position].count += 1
                state.entries[position].lastAt = now
                return nil
            }
            guard state.entries.count < Self.mostEntries else { return nil }
            let entry = Entry(file: file, kind: kind, count: 1, firstAt: now, lastAt: now, reason: reason)
            state.entries.append(entry)
            return entry
        }
        guard let entry else { return }
        // Looking for what helps may wait for the disk.
        housekeeper.submit { [self] in
            boot.hasMet(damageIn: file)
            let help = DamageHelp.text(file, configuration)
            state.withLock { state in
                state.help = help
                state.news.append(.found(entry, help: help))
            }
            hasNews.store(true, ordering: .releasing)
            wake()
        }
    }

    /// A check that somebody asked for has come to its end.
    public func note(_ problems: [Problem], count: Int) {
        guard count > 0 else { return }
        state.withLock { state in
            state.news += problems.prefix(Self.mostProblems).map { .problem($0) }
            state.news.append(.checked(problems: count))
        }
        hasNews.store(true, ordering: .releasing)
        wake()
    }

    /// What has been met since the start, the first first.
    public var entries: [Entry] { state.withLock(\.entries) }

    /// The command that helps; empty while nothing was met.
    public var help: String { state.withLock(\.help) }

    /// What nobody has been told of yet.
    public func takeNews() -> [News] {
        guard hasNews.load(ordering: .relaxed), hasNews.exchange(false, ordering: .acquiring) else { return [] }
        return state.withLock { state in
            defer { state.news = [] }
            return state.news
        }
    }
}

/// What to do about a damaged file that lasts.
package enum DamageHelp {
    /// `file`: below the data directory. May wait for the disk.
    package static func text(_ file: String, _ configuration: StorageConfiguration) -> String {
        let path = configuration.dataDirectory + "/" + file
        if !FileSystem.exists(path) {
            return "\(path) is gone: end the daemon, put it back and start; else " + anew(configuration)
        }
        // durable/attachments/ab/cdef…
        let isContent = file.hasPrefix("durable/attachments/") && file.split(separator: "/").count == 4
        if isContent, FileSystem.isDirectory(path) {
            return "\(path) is a directory, where a content belongs: move it away and attach that again; else "
                + anew(configuration)
        }
        return anew(configuration)
    }

    /// How a data directory is made of what there is elsewhere.
    private static func anew(_ configuration: StorageConfiguration) -> String {
        let data = configuration.dataDirectory
        let log = ShellWord.quoted(data + "/log")
        var newest: (entry: BackupDirectory.Entry, isEncrypted: Bool)?
        for entry in (try? BackupDirectory.list(configuration)) ?? [] {
            let (isEncrypted, manifest) = BackupDirectory.glance(entry.name, configuration)
            guard isEncrypted || manifest?.include.isEmpty == true else { continue }
            // One that has left out what was damaged does not bring it back.
            let isWhole = manifest?.leavesOutDamage != true && !entry.isPartial
            if isWhole || newest == nil { newest = (entry, isEncrypted) }
            if isWhole { break }
        }
        if let (entry, isEncrypted) = newest {
            let proof =
                FileSystem.isRegular(KeyFiles(configuration).rootKeyPath)
                ? "--keys \(ShellWord.quoted(data + "/keys"))" : "--unproved"
            let snapshot = ShellWord.quoted(BackupDirectory.path(entry.name, configuration))
            return
                "make a new data directory of the newest snapshot and the log's changes since: kura restore \(snapshot) "
                + "--at newest --log \(log) --data-dir \(ShellWord.quoted(data + ".restored")) \(proof), then start with that one; without --at and --log where the log does "
                + "not go back so far" + (isEncrypted ? "; it is encrypted: add --identity FILE" : "")
        }
        return
            "there is no snapshot in \(data)/backups: 'kura restore FILE --at newest --log \(log)' takes a backup from elsewhere; else save what "
            + "can still be read with 'kura settings export' and 'kura docs export'"
    }
}
