import Glibc
public import KuraBytes
import Sodium

/// Something done with the slots that takes files or a passphrase's hash, and so a thread: made on the loop, run on kura-keys one after
/// the other, adopted by the storage on the loop, and then looked at by whoever asked.
///
/// Each begins with what slots.json says now, so it never writes over what it has not seen.
public final class KeyJob: TableQuery, @unchecked Sendable {
    // Has one user at a time: who made it, then the thread, then the loop again.

    public enum Task: Sendable {
        /// With a passphrase, or with the sources that can be read.
        case unlock
        /// The passphrase is the new slot's.
        case addSlot(KeySlot.Kind, label: [UInt8])
        case removeSlot(UInt32)
        /// The second passphrase takes the first one's place.
        case changePassphrase
        /// A new root key; the passphrase opens the slots that have it.
        case rotate
        /// Nothing is sealed any more with what follows from that epoch's root key.
        case retire(epoch: UInt32)
    }

    public let task: Task
    /// The slot that was made, or that opened.
    public internal(set) var slot: KeySlot?
    /// Why it was not done.
    public internal(set) var fault: KeysFault?

    /// What `takeAnswers` gives back; 0 before it is submitted.
    public internal(set) var ticket: UInt64 = 0
    /// What it has come to has been taken in.
    public internal(set) var isDone = false
    /// Times that the ring had been locked when this was asked for.
    var locks: UInt64 = 0
    /// There is nothing yet that keys have sealed, nor have there been keys: where there are no slots they may be made.
    var mayCreate = false
    /// The store's record, as it was when this was begun.
    var seal = StoreSeal()
    /// What went of key files; a root.key only where a change before had left it.
    private(set) var finished = KeyFiles.Finished()
    /// What keeps the file of the slot's key from going, though the slot is gone: the next start tries again.
    private(set) var leftover: KeysFault?
    private(set) var outcome: Outcome?
    private var passphrase: SecretBuffer?
    private var newPassphrase: SecretBuffer?

    enum Outcome {
        case opened(OpenedKeys)
        case changed(KeySlots)
    }

    /// - Parameters:
    ///   - task: what is to be done.
    ///   - passphrase: nil for none; the job has a copy of its own, and zeroes it when it is done.
    ///   - newPassphrase: for `changePassphrase`.
    public init(_ task: Task, passphrase: Bytes? = nil, newPassphrase: Bytes? = nil) {
        self.task = task
        if let passphrase { self.passphrase = SecretBuffer(copying: passphrase) }
        if let newPassphrase { self.newPassphrase = SecretBuffer(copying: newPassphrase) }
    }

    /// The keys belong to the ring now.
    func forget() { outcome = nil }

    // MARK: On kura-keys

    public var foldedTo: UInt64 { 0 }
    public func run(_ tables: TableReader) {}

    /// - Parameters:
    ///   - opened: the keys that were at hand when it was begun.
    ///   - sources: where others can be read.
    func run(opened: OpenedKeys?, _ sources: KeySources) {
        defer {
            passphrase = nil
            newPassphrase = nil
        }
        do throws(KeysFault) {
            outcome = try perform(opened, KeyOpener(sources))
        } catch {
            fault = error
            if error == .unsynced, let placed { outcome = placed }
        }
    }

    /// Slots that are in their place, and could not be synced: the ring goes on with them, as each later job does.
    private var placed: Outcome?

    private func perform(_ opened: OpenedKeys?, _ opener: KeyOpener) throws(KeysFault) -> Outcome? {
        guard let text = try opener.sources.files.slotsText() else {
            guard mayCreate else { throw .damaged(KeyKeeper.missing) }
            guard case .unlock = task, passphrase == nil else { throw .sealed }
            return .opened(try opener.create())
        }
        let slots = try KeySlots(reading: text)
        if let misfit = seal.misfit(slots) { throw .damaged(misfit) }
        if case .changePassphrase = task { return try changePassphrase(slots, text, opener) }
        if case .unlock = task {
            let (keys, slot) = try passphrase == nil ? opener.open(slots, text) : open(slots, text, opener)
            self.slot = slot
            if isStores(keys, opener) { finished.hadStray = finish(slots, opener) }
            return .opened(keys)
        }
        guard var keys = opened else { throw .sealed }
        // Somebody else has put another file there: what is in memory is not what leads to its root key.
        guard slots == keys.slots else { throw .damaged("it is not what this daemon wrote") }
        if isStores(keys, opener) { finished.hadStray = finish(slots, opener) }
        switch task {
        case .addSlot(let kind, let label):
            do throws(KeysFault) { try addSlot(kind, label, to: &keys, opener) } catch {
                try undo(error, slots, keys, opener)
            }
        case .removeSlot(let id):
            do throws(KeysFault) { try removeSlot(id, from: &keys, opener) } catch {
                try undo(error, slots, keys, opener)
            }
        case .rotate:
            if slots.slots.contains(where: { $0.kind == .keyFile }) {
                guard takesStray || !FileSystem.exists(opener.sources.files.nextKeyPath) else { throw .keyFileExists }
                // root.key is the slot's, or nothing is rotated, and the next one is made here.
                takesStray = true
            }
            do throws(KeysFault) { try opener.rotate(&keys, passphrase: passphrase?.bytes ?? Bytes()) } catch {
                if error == .unsynced { placed = .opened(keys) } else { tryToFinish(slots, opener) }
                throw error
            }
            finish(keys.slots, opener)
            return .opened(keys)
        case .retire(let epoch):
            guard keys.slots.retired.contains(where: { $0.epoch == epoch }) else { throw .noSuchEpoch }
            keys.slots.retired.removeAll { $0.epoch == epoch }
            keys.roots.removeAll { $0.epoch == epoch }
            try opener.write(keys)
            return .opened(keys)
        case .unlock, .changePassphrase: return nil
        }
        return .changed(keys.slots)
    }

    /// A key file that slots.json does not need is nobody's: that is the store's, and no older one, or the file is one of this job.
    private var takesStray = false

    /// Whether the keys are seen to be those of what is sealed, so that files may go which their slots do not need.
    private func isStores(_ keys: OpenedKeys, _ opener: KeyOpener) -> Bool {
        guard !opener.sources.configuration.goesWithout, seal.opens(with: keys) else { return false }
        takesStray = true
        return true
    }

    private func open(
        _ slots: KeySlots, _ text: [UInt8], _ opener: KeyOpener
    ) throws(KeysFault) -> (OpenedKeys, KeySlot) {
        let (root, slot, _) = try opener.root(slots, passphrase: passphrase?.bytes ?? Bytes())
        return (try OpenedKeys(slots, text: text, root: root), slot)
    }

    private func addSlot(
        _ kind: KeySlot.Kind, _ label: [UInt8], to keys: inout OpenedKeys, _ opener: KeyOpener
    ) throws(KeysFault) {
        let slots = keys.slots
        guard slots.slots.count < KeySlots.mostSlots, slots.nextID < .max else { throw .tooManySlots }
        guard kind == .passphrase || !slots.slots.contains(where: { $0.kind == kind }) else { throw .slotExists }
        var slot = KeySlot(
            id: slots.nextID, kind: kind, label: label, createdAt: opener.sources.files.clock.wall, sealedRoot: [])
        let key: SecretKey
        switch kind {
        case .passphrase:
            let hashing = try opener.newHashing()
            slot.hashing = hashing
            key = try opener.key(from: passphrase?.bytes ?? Bytes(), hashing)
        case .keyFile:
            guard takesStray || !opener.sources.files.hasKeyFile else { throw .keyFileExists }
            key = try opener.sources.files.makeKey(opener.sources.files.rootKeyPath)
            // Without its slot it opens nothing.
            takesStray = true
        case .descriptor, .credential, .container: key = try opener.sources.key(kind)
        }
        guard let root = keys.roots.last?.key else { throw .sealed }
        slot = slots.sealing(root, in: slot, under: key)
        keys.slots.slots.append(slot)
        keys.slots.nextID += 1
        try opener.write(keys, knowing: [slot.id: key])
        self.slot = slot
    }

    /// A change of the slots was not done; a key file that was made for it goes, unless slots.json may have its slot.
    private func undo(
        _ fault: KeysFault, _ before: KeySlots, _ keys: OpenedKeys, _ opener: KeyOpener
    ) throws(KeysFault) {
        if fault == .unsynced {
            placed = .changed(keys.slots)
        } else {
            tryToFinish(before, opener)
        }
        throw fault
    }

    private func removeSlot(_ id: UInt32, from keys: inout OpenedKeys, _ opener: KeyOpener) throws(KeysFault) {
        guard let index = keys.slots.slots.firstIndex(where: { $0.id == id }) else { throw .noSuchSlot }
        guard keys.slots.slots.count > 1 else { throw .lastSlot }
        let before = keys.slots
        let gone = keys.slots.slots.remove(at: index)
        let files = opener.sources.files
        let isSlots =
            gone.kind == .keyFile && !FileSystem.exists(files.nextKeyPath)
            && files.isKey(files.rootKeyPath, of: gone, before)
        try opener.write(keys)
        if isSlots { takesStray = true }
        finish(keys.slots, opener)
        slot = gone
    }

    /// Has what opens nothing any more go.
    /// - Returns: whether a root.key did.
    @discardableResult
    private func finish(_ slots: KeySlots, _ opener: KeyOpener) -> Bool {
        var gone = KeyFiles.Finished()
        do throws(KeysFault) {
            if takesStray {
                try opener.sources.files.finish(slots, &gone)
            } else {
                try opener.sources.files.removeDrafts(&gone)
            }
            leftover = nil
        } catch { leftover = error }
        if gone.hasOtherNames { finished.hasOtherNames = true }
        return gone.hadStray
    }

    /// The same behind a change that was not done: what stays the next one tries again.
    private func tryToFinish(_ slots: KeySlots, _ opener: KeyOpener) {
        let before = leftover
        finish(slots, opener)
        leftover = before
    }

    private func changePassphrase(
        _ slots: KeySlots, _ text: [UInt8], _ opener: KeyOpener
    ) throws(KeysFault) -> Outcome {
        let (root, found, _) = try opener.root(slots, passphrase: passphrase?.bytes ?? Bytes())
        var keys = try OpenedKeys(slots, text: text, root: root)
        guard let index = slots.slots.firstIndex(where: { $0.id == found.id }) else { throw .noSuchSlot }
        var slot = found
        let hashing = try opener.newHashing()
        slot.hashing = hashing
        let key = try opener.key(from: newPassphrase?.bytes ?? Bytes(), hashing)
        slot = slots.sealing(root, in: slot, under: key)
        keys.slots.slots[index] = slot
        try opener.write(keys, knowing: [slot.id: key])
        self.slot = slot
        return .changed(keys.slots)
    }
}
