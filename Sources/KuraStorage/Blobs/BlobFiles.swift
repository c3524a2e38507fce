import CSyscalls
import Glibc
import KuraBytes
import SQLite
import Synchronization

/// The contents of large blobs as files: DATA/cache/blobs/ab/cdef…, named by their digests, one of equal contents, for reading only.
///
/// A content is whole before it has a name (`BlobDraft`), and is *held* before it gets it. The index holds each that it refers to once, and
/// so does whoever brings one. When nobody holds it, it is removed on the cache thread; whoever brings the same meanwhile waits until it is
/// gone. Nothing here is synced: after a power cut a file may be shorter than it was, or have other bytes, which is why those that an
/// unclean stop has left are hashed before they are shown, and why an equal content that comes takes the place of the one that is there.
package final class BlobFiles: Sendable {
    private struct State {
        var holds: [ContentDigest: Int] = [:]
        /// Held by whoever brings them, and still without a name.
        var coming: [ContentDigest: Int] = [:]
        /// On the way out, or looked at by a check: nobody begins to hold them.
        var removing: Set<ContentDigest> = []
        /// Given up by all who held them; the cache thread is still to remove them.
        var leaving: Set<ContentDigest> = []
        /// Passed over by the cache thread while a check looked at them.
        var missed: Set<ContentDigest> = []
        /// Found damaged, and still in their places.
        var damaged: Set<ContentDigest> = []
        var isStopped = false
        var isLoaded = false
        /// What a kill has left has been removed.
        var hasSwept = false
        /// Files set aside since the start.
        var setAside = 0
    }
    private let state = Guarded(State())
    private let configuration: StorageConfiguration
    private let remover: CacheThread
    let space: FreeSpace
    /// Bytes of contents that are on their way in: as uploads, which may take their time, and otherwise.
    private let uploadBytes = Atomic<Int>(0)
    private let copyBytes = Atomic<Int>(0)

    /// Damaged files that are kept for whoever wants to know what has happened to them; of others the name is logged only.
    private static let setAsideLimit = 64

    /// `remover`: the thread that takes names away.
    init(_ configuration: StorageConfiguration, remover: CacheThread, space: FreeSpace) {
        self.space = space
        self.configuration = configuration
        self.remover = remover
    }

    func path(_ digest: ContentDigest) -> String {
        let digits = digest.text
        return "\(configuration.blobsDirectory)/\(digits.prefix(2))/\(digits.dropFirst(2))"
    }

    // MARK: Coming

    /// Whether contents that are on their way in may take so much more: together no more than all blobs may have.
    func admits(draftBytes count: Int, ofUpload isUpload: Bool) -> Bool {
        let taken = isUpload ? uploadBytes.load(ordering: .relaxed) : copyBytes.load(ordering: .relaxed)
        return taken + count <= configuration.caches.blobBytes
    }

    /// From any thread.
    func note(draftBytes count: Int, ofUpload isUpload: Bool) {
        if isUpload {
            uploadBytes.wrappingAdd(count, ordering: .relaxed)
        } else {
            copyBytes.wrappingAdd(count, ordering: .relaxed)
        }
    }

    /// Gives a content that is whole its name. On a thread that may wait.
    /// Returns: what keeps it.
    func adopt(_ draft: BlobDraft, _ digest: ContentDigest) throws(StorageFault) -> BlobHold {
        let hold = hold(digest)
        defer {
            state.withLock { state in
                let left = (state.coming[digest] ?? 1) - 1
                state.coming[digest] = left > 0 ? left : nil
            }
        }
        let place = path(digest)
        // What lies there is not what comes now.
        if state.withLock({ $0.damaged.remove(digest) }) != nil { setAside(digest) }
        var attempts = 0
        while true {
            if let fault = FaultPoints.hit(.blobLink)?.errno {
                throw .system(errno: fault, call: "link", path: place)
            }
            if name(draft, place) { return hold }
            switch errno {
            case EEXIST where FileSystem.size(place) == draft.bytes:
                // Nobody can tell what the other has become; this one is whole.
                try replace(place, with: draft)
                return hold
            case EEXIST where attempts < 2: setAside(digest)
            case ENOENT where attempts < 2:
                try FileSystem.makeDirectory(String(place.dropLast(ContentDigest.length - 1)))
            default: throw FileSystem.fail("link", place)
            }
            attempts += 1
        }
    }

    /// Whoever reads the old file goes on with it.
    private func replace(_ place: String, with draft: BlobDraft) throws(StorageFault) {
        let name = draft.temporary ?? configuration.temporaryDirectory + "/blob-\(UInt64.random(in: 0...UInt64.max))"
        // Safety: the path is lent as a C string for the call.
        if draft.temporary == nil, unsafe csys_name_file(draft.descriptor, AT_FDCWD, name) != 0 {
            throw FileSystem.fail("link", name)
        }
        if draft.temporary == nil { CountingVFS.count(.made, path: name) }
        do throws(StorageFault) { try FileSystem.rename(name, place) } catch {
            FileSystem.tryToRemove(name)
            throw error
        }
        if draft.temporary != nil { draft.wasNamed() }
    }

    /// - Returns: false with errno when the place is taken, or its directory is not there.
    private func name(_ draft: BlobDraft, _ place: String) -> Bool {
        // Safety: the paths are lent as C strings for the calls.
        guard let temporary = draft.temporary else {
            guard unsafe csys_name_file(draft.descriptor, AT_FDCWD, place) == 0 else { return false }
            CountingVFS.count(.made, path: place)
            return true
        }
        guard unsafe link(temporary, place) == 0 else { return false }
        CountingVFS.count(.made, path: place)
        FileSystem.tryToRemove(temporary)
        draft.wasNamed()
        return true
    }

    /// On a thread that may wait: a content that is being removed is waited for, which takes no longer than an unlink.
    private func hold(_ digest: ContentDigest) -> BlobHold {
        while true {
            let isHeld = state.withLock { state in
                guard !state.removing.contains(digest) else { return false }
                state.holds[digest, default: 0] += 1
                state.coming[digest, default: 0] += 1
                return true
            }
            if isHeld { return BlobHold(digest, self) }
            usleep(200)
        }
    }

    /// The index holds what it has found in its table; at the start, when nothing is being removed.
    func holdLoaded(_ digest: ContentDigest) {
        state.withLock { $0.holds[digest, default: 0] += 1 }
    }

    /// The index holds all that its table has.
    func noteLoaded() { state.withLock { $0.isLoaded = true } }

    /// From any thread.
    package var isLoaded: Bool { state.withLock { $0.isLoaded } }

    /// Whether a file lies there that nobody holds and nobody is still to remove. Nobody holds or removes it meanwhile. On a thread that may wait.
    package func isOrphan(_ digest: ContentDigest) -> Bool {
        let isFree = state.withLock { state in
            guard state.hasSwept, state.holds[digest] == nil, !state.leaving.contains(digest), !state.isStopped else {
                return false
            }
            return state.removing.insert(digest).inserted
        }
        guard isFree else { return false }
        defer {
            let isMissed = state.withLock { state in
                state.removing.remove(digest)
                return state.missed.remove(digest) != nil
            }
            if isMissed { remover.submit(BlobFileJob(.remove(digest), self)) }
        }
        return FileSystem.exists(path(digest))
    }

    /// Contents that the index refers to and whose files are gone. On a thread that may wait.
    package func missing() -> [ContentDigest] {
        let held = state.withLock { state in state.holds.keys.filter { state.coming[$0] == nil } }
        return held.filter { digest in
            guard !FileSystem.exists(path(digest)) else { return false }
            // It may have been let go, or have come again.
            let isHeld = state.withLock { $0.holds[digest] != nil && $0.coming[digest] == nil }
            return isHeld && !FileSystem.exists(path(digest))
        }
    }

    // MARK: Going

    /// The index, or whoever brought it, does not hold it any more. From any thread, without waiting.
    func release(_ digest: ContentDigest) {
        let isLast = state.withLock { state in
            let left = (state.holds[digest] ?? 1) - 1
            state.holds[digest] = left > 0 ? left : nil
            let isLast = left <= 0 && !state.isStopped
            if isLast { state.leaving.insert(digest) }
            return isLast
        }
        if isLast { remover.submit(BlobFileJob(.remove(digest), self)) }
    }

    /// Removes the file if still nobody holds it. On the cache thread.
    func remove(_ digest: ContentDigest) {
        let isFree = state.withLock { state in
            guard state.holds[digest] == nil else {
                state.leaving.remove(digest)
                return false
            }
            guard state.removing.insert(digest).inserted else {
                state.missed.insert(digest)
                return false
            }
            return true
        }
        guard isFree else { return }
        if state.withLock({ $0.damaged.remove(digest) }) != nil {
            setAside(digest)
        } else {
            FileSystem.tryToRemove(path(digest))
        }
        state.withLock { state in
            state.removing.remove(digest)
            state.leaving.remove(digest)
        }
    }

    /// A content is not what it was: when nobody holds it any more, or it comes again, its file is set aside.
    func noteDamaged(_ digest: ContentDigest) { state.withLock { _ = $0.damaged.insert(digest) } }

    /// Closes a draft that came to nothing. From any thread, without waiting.
    func letGo(_ descriptor: Int32, temporary: String?) {
        let isTaken = remover.submit(BlobFileJob(.close(descriptor, temporary: temporary), self))
        // The storage has been closed: nobody is held up.
        if !isTaken { Self.close(descriptor, temporary: temporary) }
    }

    /// May take as long as removing a file.
    static func close(_ descriptor: Int32, temporary: String?) {
        if let temporary { FileSystem.tryToRemove(temporary) }
        Glibc.close(descriptor)
    }

    /// A damaged file leaves its place, so that nobody reads it and the same content can come again. May wait.
    private func setAside(_ digest: ContentDigest) {
        let number = state.withLock { state in
            state.setAside += 1
            return state.setAside
        }
        let place = path(digest)
        guard number <= Self.setAsideLimit, (try? FileSystem.makeDirectory(configuration.quarantineDirectory)) != nil
        else { return FileSystem.tryToRemove(place) }
        FileSystem.tryToRename(
            place, "\(configuration.quarantineDirectory)/blob-\(digest.text)-\(configuration.clock.wall)")
    }

    /// Removes the files that nobody holds: what a kill has left. On the cache thread, when the index has been read.
    func sweep() {
        for directory in (try? FileSystem.names(in: configuration.blobsDirectory)) ?? [] {
            for name in (try? FileSystem.names(in: "\(configuration.blobsDirectory)/\(directory)")) ?? [] {
                let digits = Array((directory + name).utf8)
                guard let digest = digits.withBytes({ ContentDigest(digits: $0) }) else { continue }
                if state.withLock({ $0.isStopped }) { return }
                remove(digest)
            }
        }
        state.withLock { $0.hasSwept = true }
    }

    /// From now on nothing is removed: what could be is found again at the next start.
    func stop() { state.withLock { $0.isStopped = true } }
}

/// Keeps a content in its place as long as it is there itself, or until the index does.
final class BlobHold: Sendable {
    let digest: ContentDigest
    private let files: BlobFiles
    private let isKept = Guarded(false)

    fileprivate init(_ digest: ContentDigest, _ files: BlobFiles) {
        self.digest = digest
        self.files = files
    }

    deinit { if !isKept.withLock({ $0 }) { files.release(digest) } }

    /// The index holds it in its stead, unless it has done so before.
    /// - Returns: whether it is the index's now.
    func handOver() -> Bool {
        isKept.withLock { isKept in
            defer { isKept = true }
            return !isKept
        }
    }
}
