import Glibc
import KuraBytes
package import SQLite
import Synchronization

/// The contents of attachments as files: DATA/durable/attachments/ab/cdef…, named by their digests, one of equal contents.
///
/// A content comes so, on a thread that may wait: it is written to a file in DATA/tmp and synced; the file is renamed to the
/// *marker* `content-DIGEST` there, linked to its place, and the place's directory is synced. Only then is a change staged that refers
/// to it. Until that change is in the tables, or has been taken back, the content is *pinned*, and its marker stays. An equal content that
/// is there already gives its place to the one that comes: nobody knows what it has become on the disk.
///
/// A content goes when the tables count no use of it and nobody pins it. The count is folded with the documents, so a use that is
/// gone there was taken away by a change that the log has, synced: a start that folds it again needs no such content. What a kill
/// leaves behind is found by its marker, or by its count of none, at the next start.
package final class AttachmentFiles: Sendable {
    private struct State {
        var pins: [ContentDigest: Int] = [:]
        /// Being looked at by the housekeeper, which may remove them, or by a check: nobody pins them meanwhile.
        var removing: Set<ContentDigest> = []
        /// Given up by their last pin, or postponed; the housekeeper is still to look whether they go.
        var leaving: Set<ContentDigest> = []
        /// Passed over by the housekeeper while a check looked at them.
        var missed: Set<ContentDigest> = []
        /// Pins of changes that are not folded, in the order of revisions.
        var held: [(rev: UInt64, pin: AttachmentPin)] = []
        /// Contents that were removed and are still counted, as none.
        var forgotten: [ContentDigest] = []
        /// Backups that are under way: nothing goes until they have ended.
        var keepers = 0
        /// What would have gone meanwhile.
        var postponed: [ContentDigest] = []
        /// Directories whose names are on the disk; 256 at most.
        var settled: Set<String> = []
        /// What an earlier run has left behind has been looked at.
        var hasSwept = false
        var isStopped = false
    }
    private let state = Guarded(State())
    private let configuration: StorageConfiguration
    private let housekeeper: Housekeeper
    /// The housekeeper's own look into the tables.
    private let uses = Guarded<UseReader?>(nil)

    /// `recovered`: what a start has found in the log refers to contents that stay; of the others, those that a kill has left
    ///   behind are looked for.
    init(_ configuration: StorageConfiguration, housekeeper: Housekeeper, recovered: Ledger) {
        self.configuration = configuration
        self.housekeeper = housekeeper
        for item in recovered.overlay.queue where item.pointee.store == .attachments {
            for attachment in AttachmentList(item.value).attachments {
                hold(pin(attachment.digest), untilFolded: item.pointee.rev)
            }
        }
        housekeeper.submit { [self] in sweep() }
    }

    package static func path(_ digest: ContentDigest, _ configuration: StorageConfiguration) -> String {
        let digits = digest.text
        return "\(configuration.attachmentsDirectory)/\(digits.prefix(2))/\(digits.dropFirst(2))"
    }

    /// A marker's name; the housekeeper alone removes them.
    private static let marker = "content-"

    private func markerPath(_ digest: ContentDigest) -> String {
        configuration.temporaryDirectory + "/" + Self.marker + digest.text
    }

    /// The content that a file in DATA/tmp is a marker of; nil for others.
    static func digest(ofMarker name: String) -> ContentDigest? {
        guard name.hasPrefix(marker) else { return nil }
        return Array(name.utf8.dropFirst(marker.utf8.count)).withBytes { ContentDigest(digits: $0) }
    }

    // MARK: Coming

    /// Gives a file that has been written and synced its place. On a thread that may wait.
    /// `temporary`: its path in DATA/tmp; it is gone afterwards.
    /// Returns: what keeps the content there.
    func adopt(_ temporary: String, _ digest: ContentDigest) throws(StorageFault) -> AttachmentPin {
        let pin = pin(digest)
        let place = Self.path(digest, configuration)
        let directory = Self.directory(digest, configuration)
        try FileSystem.rename(temporary, markerPath(digest))
        try settle(directory)
        if let fault = FaultPoints.hit(.attachmentLink)?.errno {
            throw .system(errno: fault, call: "link", path: place)
        }
        if try !FileSystem.link(markerPath(digest), place) {
            // What lies there may be damaged, what has just been written is whole. The marker stays, since it leads here.
            _ = try FileSystem.link(markerPath(digest), temporary)
            do throws(StorageFault) { try FileSystem.rename(temporary, place) } catch {
                // It stays: nobody knows what lies in it.
                guard FileSystem.isDirectory(place) else { throw error }
                throw .system(errno: EISDIR, call: "rename", path: place)
            }
            // A rename does nothing where both are the same file: another thread has linked this marker.
            FileSystem.tryToRemove(temporary)
        }
        // Also when it was there: whoever put it there may not have come so far.
        try FileSystem.syncDirectory(directory)
        _ = FaultPoints.hit(.attachmentLinked)
        return pin
    }

    /// Has a directory of places there, durably. Who finds one that is there does not know whether anybody has come so far as to sync its name:
    /// another thread is about to, or a run that was killed never did. So each is seen to once a run.
    private func settle(_ directory: String) throws(StorageFault) {
        guard !state.withLock({ $0.settled.contains(directory) }) else { return }
        try FileSystem.makeDirectory(directory)
        try FileSystem.syncDirectory(configuration.attachmentsDirectory)
        state.withLock { _ = $0.settled.insert(directory) }
    }

    /// Waits while the content is being removed, which takes no longer than an unlink.
    private func pin(_ digest: ContentDigest) -> AttachmentPin {
        while true {
            let isPinned = state.withLock { state in
                guard !state.removing.contains(digest) else { return false }
                state.pins[digest, default: 0] += 1
                return true
            }
            if isPinned { return AttachmentPin(digest, self) }
            usleep(200)
        }
    }

    /// Keeps the content until the tables are as of `rev`.
    func hold(_ pin: AttachmentPin, untilFolded rev: UInt64) {
        state.withLock { $0.held.append((rev, pin)) }
    }

    /// Keeps the content where it is until `body` has ended. On a thread that may wait.
    package func keeping<R, E: Error>(_ digest: ContentDigest, _ body: () throws(E) -> R) throws(E) -> R {
        let pin = pin(digest)
        defer { withExtendedLifetime(pin) {} }
        return try body()
    }

    // MARK: Going

    /// The tables are as of `rev`: whoever waited for that needs no pin any more. `unused`: contents that they count as none since.
    func folded(to rev: UInt64, unused: [ContentDigest]) {
        release { $0 <= rev }
        removeIfUnused(unused)
    }

    /// Changes of revisions above `rev` have been taken back.
    func letGo(above rev: UInt64) {
        release { $0 > rev }
    }

    private func release(_ isOver: (UInt64) -> Bool) {
        let done = state.withLock { state in
            let done = state.held.filter { isOver($0.rev) }
            if !done.isEmpty { state.held.removeAll { isOver($0.rev) } }
            return done
        }
        // Released here, outside of the lock, which giving a pin up takes.
        withExtendedLifetime(done) {}
    }

    fileprivate func unpin(_ digest: ContentDigest) {
        let isLast = state.withLock { state in
            let left = (state.pins[digest] ?? 1) - 1
            state.pins[digest] = left > 0 ? left : nil
            let isLast = left == 0 && !state.isStopped
            // In the same breath: a check finds it pinned, or on its way out.
            if isLast { state.leaving.insert(digest) }
            return isLast
        }
        if isLast { removeIfUnused([digest]) }
    }

    /// Has those of the contents removed that nobody uses or pins, on the housekeeper's thread.
    func removeIfUnused(_ digests: [ContentDigest]) {
        guard !digests.isEmpty else { return }
        housekeeper.submit { [self] in remove(digests) }
    }

    /// What has been removed and may leave the tables, with the next slice.
    func takeForgotten() -> [ContentDigest] {
        state.withLock { state in
            defer { state.forgotten = [] }
            return state.forgotten
        }
    }

    /// What an earlier run has left behind: contents whose changes were never logged, and those that it had no time to remove.
    private func sweep() {
        let names = (try? FileSystem.names(in: configuration.temporaryDirectory)) ?? []
        remove(names.compactMap(Self.digest(ofMarker:)))
        let unused = uses.withLock { reader -> [ContentDigest] in
            guard !isStopped else { return [] }
            do throws(SQLiteError) {
                if reader == nil { reader = try UseReader(configuration) }
                return try reader!.unused()
            } catch { return [] }
        }
        remove(unused)
        state.withLock { $0.hasSwept = true }
    }

    /// Removes those that nobody uses or pins, some at a time.
    private func remove(_ digests: [ContentDigest]) {
        var rest = digests[...]
        while !rest.isEmpty {
            var going: [(digest: ContentDigest, use: Use)] = []
            for digest in rest.prefix(Self.batch) {
                if let use = look(digest) { going.append((digest, use)) }
            }
            rest = rest.dropFirst(Self.batch)
            let gone = syncPlaces(of: going.map(\.digest))
            for (digest, use) in going {
                forget(digest, use, isGone: gone.contains(Self.directory(digest, configuration)))
            }
        }
    }

    /// Contents that are removed together: they share the syncs of their directories, and whoever wants one of them waits for all.
    private static let batch = 256

    private static func directory(_ digest: ContentDigest, _ configuration: StorageConfiguration) -> String {
        String(path(digest, configuration).dropLast(ContentDigest.length - 1))
    }

    /// - Returns: the directories from which names are gone for good, power cut or not.
    private func syncPlaces(of digests: [ContentDigest]) -> Set<String> {
        Set(digests.map { Self.directory($0, configuration) }).filter { directory in
            !FileSystem.exists(directory) || (try? FileSystem.syncDirectory(directory)) != nil
        }
    }

    /// Removes a content that nobody uses or pins from its place.
    /// - Returns: nil when it stays, or somebody else sees to it.
    private func look(_ digest: ContentDigest) -> Use? {
        let isFree = state.withLock { state in
            guard state.pins[digest] == nil, !state.isStopped else {
                state.leaving.remove(digest)
                return false
            }
            guard state.keepers == 0 else {
                state.postponed.append(digest)
                state.leaving.insert(digest)
                return false
            }
            guard state.removing.insert(digest).inserted else {
                state.missed.insert(digest)
                return false
            }
            return true
        }
        guard isFree else { return nil }
        // Without a pin, every change that refers to it is folded or taken back: the tables know.
        let found = uses.withLock { reader -> Use in
            do throws(SQLiteError) {
                if reader == nil { reader = try UseReader(configuration) }
                return try reader!.use(of: digest)
            } catch { return .unknown }
        }
        switch found {
        case .unused, .absent:
            _ = FaultPoints.hit(.attachmentRemove)
            FileSystem.tryToRemove(Self.path(digest, configuration))
            return found
        case .used: FileSystem.tryToRemove(markerPath(digest))
        // It stays: its marker, or its count, leads back to it.
        case .unknown: break
        }
        state.withLock { state in
            state.removing.remove(digest)
            state.leaving.remove(digest)
        }
        return nil
    }

    /// Forgets what leads to a content, which is its marker or its count, once its name is gone for good: a power cut may else bring it back.
    private func forget(_ digest: ContentDigest, _ use: Use, isGone: Bool) {
        if isGone { FileSystem.tryToRemove(markerPath(digest)) }
        state.withLock { state in
            state.removing.remove(digest)
            state.leaving.remove(digest)
            if isGone, use == .unused { state.forgotten.append(digest) }
        }
    }

    /// Whether a content lies there to which nothing leads: no change, no pin, and nobody who is still to remove it. On a thread that may wait.
    ///
    /// Nobody pins or removes it meanwhile: all changes that refer to it are in the tables, and they and the file are of one moment.
    /// `isKnown`: whether the tables count it, as none or more.
    package func isOrphan(_ digest: ContentDigest, isKnown: () throws(SQLiteError) -> Bool) throws(SQLiteError) -> Bool
    {
        let (isFree, hasSwept) = state.withLock { state in
            guard state.pins[digest] == nil, !state.leaving.contains(digest), !state.isStopped else {
                return (false, state.hasSwept)
            }
            return (state.removing.insert(digest).inserted, state.hasSwept)
        }
        guard isFree else { return false }
        defer {
            let isMissed = state.withLock { state in
                state.removing.remove(digest)
                return state.missed.remove(digest) != nil
            }
            if isMissed { removeIfUnused([digest]) }
        }
        // What a kill has left behind goes as soon as the housekeeper comes to it.
        guard hasSwept || !FileSystem.exists(markerPath(digest)) else { return false }
        return try !isKnown() && FileSystem.exists(Self.path(digest, configuration))
    }

    /// Nothing is removed until `endKeeping`, which is called as often. On any thread.
    func beginKeeping() { state.withLock { $0.keepers += 1 } }

    func endKeeping() {
        let postponed = state.withLock { state in
            state.keepers -= 1
            guard state.keepers == 0 else { return [ContentDigest]() }
            defer { state.postponed = [] }
            return state.postponed
        }
        removeIfUnused(postponed)
    }

    private var isStopped: Bool { state.withLock { $0.isStopped } }

    /// From now on nothing is removed: what could be is found again at the next start.
    func stop() {
        let held = state.withLock { state in
            state.isStopped = true
            defer { state.held = [] }
            return state.held
        }
        withExtendedLifetime(held) {}
        uses.withLock { $0 = nil }
    }
}

/// Keeps a content in its place as long as it is there itself.
public final class AttachmentPin: Sendable {
    let digest: ContentDigest
    private let files: AttachmentFiles

    fileprivate init(_ digest: ContentDigest, _ files: AttachmentFiles) {
        self.digest = digest
        self.files = files
    }

    deinit { files.unpin(digest) }
}

/// Reads how often contents are used. One thread's.
private final class UseReader: @unchecked Sendable {
    // Handed from thread to thread under the lock of its owner only.
    private let connection: Connection
    private let select: Statement

    init(_ configuration: StorageConfiguration) throws(SQLiteError) {
        connection = try Connection(path: configuration.tablesPath, mode: .readOnly)
        try connection.setBusyTimeout(milliseconds: 5000)
        try connection.execute("PRAGMA cache_size=-64;")
        select = try connection.prepare("SELECT uses FROM contents WHERE digest = ?1")
    }

    /// Contents that are counted, as none.
    func unused() throws(SQLiteError) -> [ContentDigest] {
        let select = try connection.prepare("SELECT digest FROM contents WHERE uses = 0")
        var found: [ContentDigest] = []
        while try select.step() {
            if let digest = ContentDigest(digits: select.bytes(0)) { found.append(digest) }
        }
        return found
    }

    func use(of digest: ContentDigest) throws(SQLiteError) -> Use {
        defer { select.reset() }
        try select.bind(1, text: digest.text)
        guard try select.step() else { return .absent }
        return select.int64(0) > 0 ? .used : .unused
    }
}

/// What the tables say of a content.
private enum Use {
    case used, unused
    /// They do not know it.
    case absent
    /// They could not be asked.
    case unknown
}
