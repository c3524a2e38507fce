import Glibc
import KuraBytes
import SQLite
import Sodium

/// The files under DATA/keys: slots.json, root.key and host.key, all 0600; root.key.next amid a rotation; and host.renewed, an empty one, when
/// host.key was made anew.
///
/// A file is written under another name, synced, read back, and only then renamed into its place, and the directory synced: whatever kills the
/// daemon, and whenever, one of both is there whole.
///
/// A change of a slot and of its key file is one in two halves, whose order makes slots.json its note: a key file comes before its slot and goes
/// after it. So a key file without a slot opens nothing, provided that slots.json is the newest one: an older one, or another store's, has no slot
/// for the key that its owner still needs. Nothing shows that but keys which open the secrets (`StoreSeal.opens`), so only a start and jobs that have
/// these let `finish` overwrite and remove such a file.
///
/// A rotation has a new key for the slot that is there: it lies in root.key.next before slots.json has the slot under it, and takes root.key's place
/// after that. `finish` sees by the slot which of the two that is.
package struct KeyFiles: Sendable {
    private let directory: String
    let clock: Clock

    package init(_ configuration: StorageConfiguration) {
        (directory, clock) = (configuration.keysDirectory, configuration.clock)
    }

    init(directory: String) { (self.directory, clock) = (directory, .system) }

    package var slotsPath: String { directory + "/slots.json" }
    package var rootKeyPath: String { directory + "/root.key" }
    package var nextKeyPath: String { rootKeyPath + ".next" }
    package var hostKeyPath: String { directory + "/host.key" }
    /// Its time says when host.key was made anew, though there had been keys.
    private var renewalPath: String { directory + "/host.renewed" }

    /// More than the largest file of slots.
    private static let mostBytes = 64 << 10

    // MARK: Slots

    /// The text of slots.json; nil when there is none.
    package func slotsText() throws(KeysFault) -> [UInt8]? {
        guard FileSystem.exists(slotsPath) else {
            guard errno == ENOENT else { throw KeysFault(FileSystem.fail("access", slotsPath)) }
            return nil
        }
        return try text(at: slotsPath)
    }

    private func text(at path: String) throws(KeysFault) -> [UInt8] {
        do throws(StorageFault) {
            let descriptor = try FileSystem.openRegular(path)
            defer { close(descriptor) }
            var buffer = ByteBuffer()
            while buffer.count <= Self.mostBytes {
                let count = try FileSystem.read(
                    descriptor, atMost: Self.mostBytes, at: buffer.count, into: &buffer, path: path)
                if count == 0 { return [UInt8](buffer.bytes) }
            }
        } catch { throw KeysFault(error) }
        throw .damaged("it is too long")
    }

    /// Puts a new text in the place of the old one.
    ///
    /// - Parameters:
    ///   - text: of the slots.
    ///   - verify: holds what was read back against what it should be, before the old text goes.
    /// - Throws: what keeps it from being written, and then the old text stays; `unsynced` when the new one is there.
    func replaceSlots(_ text: [UInt8], verify: ([UInt8]) throws(KeysFault) -> Void) throws(KeysFault) {
        let fresh = slotsPath + ".new"
        do throws(KeysFault) {
            try text.withBytes { (text) throws(KeysFault) in try write(text, to: fresh) }
            try verify(try self.text(at: fresh))
        } catch {
            FileSystem.tryToRemove(fresh)
            throw error
        }
        try place(fresh, slotsPath)
    }

    // MARK: Keys

    /// Makes a file with a new random key; one that is there is replaced.
    func makeKey(_ path: String) throws(KeysFault) -> SecretKey {
        let key: SecretKey
        do throws(SodiumError) { key = try SecretKey() } catch { throw .outOfMemory }
        do throws(KeysFault) {
            try key.withBytes { (bytes) throws(KeysFault) in try write(bytes, to: path + ".new") }
        } catch {
            FileSystem.tryToRemove(path + ".new")
            throw error
        }
        try place(path + ".new", path)
        return key
    }

    /// Overwrites a key's file and takes it away. What the disk itself keeps of overwritten blocks is out of reach. A file that has other names is
    /// somebody's copy as well, and only loses this one.
    ///
    /// - Returns: whether it has other names.
    /// - Throws: what keeps it from being overwritten, and then it stays.
    private func destroyKey(_ path: String) throws(KeysFault) -> Bool {
        var hasOtherNames = false
        do throws(StorageFault) {
            let descriptor = try FileSystem.open(path, O_WRONLY | O_NOFOLLOW | O_NONBLOCK)
            defer { close(descriptor) }
            hasOtherNames = try Self.hasOtherNames(descriptor, path)
            if !hasOtherNames { try Self.overwrite(descriptor, path) }
        } catch { throw KeysFault(error) }
        FileSystem.tryToRemove(path)
        do throws(StorageFault) { try FileSystem.syncDirectory(directory) } catch { throw .unsynced }
        return hasOtherNames
    }

    /// Safety: the kernel fills one `stat`, which is ours.
    private static func hasOtherNames(_ descriptor: Int32, _ path: String) throws(StorageFault) -> Bool {
        var information = stat()
        guard unsafe fstat(descriptor, &information) == 0 else { throw FileSystem.fail("fstat", path) }
        return information.st_nlink > 1
    }

    private static func overwrite(_ descriptor: Int32, _ path: String) throws(StorageFault) {
        let zeros = [UInt8](repeating: 0, count: SecretKey.byteCount)
        try zeros.withBytes { (zeros) throws(StorageFault) in
            try FileSystem.write(descriptor, zeros, at: 0, path: path, isBilled: true)
        }
        guard fsync(descriptor) == 0 else { throw FileSystem.fail("fsync", path) }
    }

    /// Whether root.key is there and no slot needs it.
    package func hasStrayRootKey(_ slots: KeySlots) -> Bool {
        FileSystem.isRegular(rootKeyPath) && !slots.slots.contains { $0.kind == .keyFile }
    }

    /// Whether root.key or root.key.next is there, which a new one would take the place of.
    var hasKeyFile: Bool { FileSystem.exists(rootKeyPath) || FileSystem.exists(nextKeyPath) }

    /// Whether a file has the key of the slot.
    func isKey(_ path: String, of slot: KeySlot, _ slots: KeySlots) -> Bool {
        guard let key = try? KeySources.key(ofOurs: path) else { return false }
        return (try? slots.root(in: slot, under: key)) != nil
    }

    /// What went of key files.
    struct Finished: Sendable {
        /// There was a root.key that no slot needed.
        var hadStray = false
        /// One that went has other names, and was not overwritten.
        var hasOtherNames = false
    }

    /// Drafts go: nothing was ever sealed with them.
    ///
    /// - Parameter finished: gets what went.
    /// - Throws: what keeps them from going.
    func removeDrafts(_ finished: inout Finished) throws(KeysFault) {
        for path in [rootKeyPath, nextKeyPath, hostKeyPath] where FileSystem.isRegular(path + ".new") {
            if try destroyKey(path + ".new") { finished.hasOtherNames = true }
        }
        FileSystem.tryToRemove(slotsPath + ".new")
    }

    /// Finishes what was stopped between the two halves of a change: drafts go, the key of a rotation takes its place, and a key file that no slot
    /// needs goes. Only where slots.json is seen to be the store's, and no older one: what that does not need nobody does.
    ///
    /// - Parameters:
    ///   - slots: what slots.json says.
    ///   - finished: gets what went.
    /// - Throws: what keeps it from going.
    func finish(_ slots: KeySlots, _ finished: inout Finished) throws(KeysFault) {
        try removeDrafts(&finished)
        if FileSystem.isRegular(nextKeyPath) { try finishRotation(slots, &finished) }
        guard hasStrayRootKey(slots) else { return }
        // Slots that a power cut could still bring back may need it.
        do throws(StorageFault) { try FileSystem.syncDirectory(directory) } catch { throw .unsynced }
        if try destroyKey(rootKeyPath) { finished.hasOtherNames = true }
        finished.hadStray = true
    }

    /// root.key.next is the slot's key, and takes root.key's place; or a rotation came to nothing, and it goes. Where neither is the slot's both stay.
    private func finishRotation(_ slots: KeySlots, _ finished: inout Finished) throws(KeysFault) {
        guard let slot = slots.slots.first(where: { $0.kind == .keyFile }), !isKey(rootKeyPath, of: slot, slots) else {
            if try destroyKey(nextKeyPath) { finished.hasOtherNames = true }
            return
        }
        guard isKey(nextKeyPath, of: slot, slots) else { return }
        // Slots that a power cut could still bring back need the old one.
        do throws(StorageFault) { try FileSystem.syncDirectory(directory) } catch { throw .unsynced }
        if FileSystem.isRegular(rootKeyPath), try destroyKey(rootKeyPath) { finished.hasOtherNames = true }
        try place(nextKeyPath, rootKeyPath, isOnly: true)
    }

    // MARK: The host's key

    /// When host.key was made anew, milliseconds since 1970; nil when it is the first one, or somebody has acknowledged it.
    package var hostKeyRenewedAt: Int64? {
        let at = FileSystem.modified(renewalPath)
        return at > 0 ? at : nil
    }

    /// Makes a new host.key in the place of one that is gone, which is noted before.
    func renewHostKey() throws(KeysFault) -> SecretKey {
        do throws(KeysFault) { try write(Bytes(), to: renewalPath) } catch {
            FileSystem.tryToRemove(renewalPath)
            throw error
        }
        return try makeKey(hostKeyPath)
    }

    /// Somebody knows that host.key was made anew.
    /// - Returns: whether it was.
    func acknowledgeRenewal() -> Bool {
        guard FileSystem.exists(renewalPath) else { return false }
        FileSystem.tryToRemove(renewalPath)
        return true
    }

    // MARK: Writing

    private func write(_ bytes: Bytes, to path: String) throws(KeysFault) {
        do throws(StorageFault) {
            let descriptor = try FileSystem.open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW)
            defer { close(descriptor) }
            try Self.strike(.keysWrite, path)
            try FileSystem.write(descriptor, bytes, at: 0, path: path, isBilled: true)
            try Self.strike(.keysSync, path)
            guard fsync(descriptor) == 0 else { throw FileSystem.fail("fsync", path) }
        } catch { throw KeysFault(error) }
    }

    /// `isOnly`: what is in `fresh` is nowhere else: it stays when it cannot be renamed.
    private func place(_ fresh: String, _ path: String, isOnly: Bool = false) throws(KeysFault) {
        do throws(StorageFault) {
            try Self.strike(.keysRename, path)
            try FileSystem.rename(fresh, path)
        } catch {
            if !isOnly { FileSystem.tryToRemove(fresh) }
            throw KeysFault(error)
        }
        do throws(StorageFault) {
            try Self.strike(.keysRenamed, path)
            try FileSystem.syncDirectory(directory)
        } catch { throw .unsynced }
    }

    private static func strike(_ point: FaultPoint, _ path: String) throws(StorageFault) {
        guard let code = FaultPoints.hit(point)?.errno else { return }
        throw .system(errno: code, call: "write", path: path)
    }
}
