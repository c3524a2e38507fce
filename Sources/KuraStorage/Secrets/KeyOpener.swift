import KuraBytes
import Sodium

/// Opens, makes and writes slots. On kura-keys, or before any thread is there.
struct KeyOpener {
    let sources: KeySources

    init(_ sources: KeySources) {
        self.sources = sources
    }

    // MARK: Opening

    /// With the sources that can be read.
    ///
    /// - Throws: `wrongKey` when those that can be read open nothing; why not when none can be read; `damaged`.
    func open(_ slots: KeySlots, _ text: [UInt8]) throws(KeysFault) -> (OpenedKeys, KeySlot) {
        var reason: KeysFault?
        for slot in slots.slots where slot.kind != .passphrase {
            do throws(KeysFault) {
                let root = try root(slots, slot).root
                return (try OpenedKeys(slots, text: text, root: root), slot)
            } catch {
                switch error {
                // Another one may do.
                case .wrongKey: reason = .wrongKey
                case .noSuchSource: if reason == nil { reason = error }
                default: throw error
                }
            }
        }
        throw reason ?? .sealed
    }

    /// The root key by the slot's source. The key of a key file's slot lies in root.key.next when a rotation was stopped before the last step.
    private func root(_ slots: KeySlots, _ slot: KeySlot) throws(KeysFault) -> (root: SecretKey, key: SecretKey) {
        do throws(KeysFault) {
            let key = try sources.key(slot.kind)
            return (try Self.root(slots, slot, key), key)
        } catch {
            guard slot.kind == .keyFile, error != .outOfMemory,
                let next = try? KeySources.key(ofOurs: sources.files.nextKeyPath),
                let root = try? slots.root(in: slot, under: next)
            else { throw error }
            return (root, next)
        }
    }

    private static func root(_ slots: KeySlots, _ slot: KeySlot, _ key: SecretKey) throws(KeysFault) -> SecretKey {
        do throws(SodiumError) { return try slots.root(in: slot, under: key) } catch {
            throw error == .outOfMemory ? .outOfMemory : .wrongKey
        }
    }

    /// The root key by a passphrase, which is hashed for one slot after the other until it opens.
    ///
    /// - Throws: `wrongKey` when it opens none, `noRoom`.
    func root(_ slots: KeySlots, passphrase: Bytes) throws(KeysFault) -> (SecretKey, KeySlot, key: SecretKey) {
        for slot in slots.slots {
            guard let hashing = slot.hashing else { continue }
            let key = try key(from: passphrase, hashing)
            do throws(KeysFault) { return (try Self.root(slots, slot, key), slot, key) } catch {
                guard error == .wrongKey else { throw error }
            }
        }
        throw .wrongKey
    }

    // MARK: Passphrases

    /// Memory that stays free beside a hash, bytes: for what else the daemon does meanwhile.
    private static let margin = 4 << 20

    /// For a new passphrase: libsodium's MODERATE, and never more than half of what the process may use.
    func newHashing() throws(KeysFault) -> KeySlot.Hashing {
        let limit = sources.configuration.memory().limit
        guard let parameters = PasswordHash.Parameters.moderate(within: limit / 2) else {
            throw .noRoom(bytes: PasswordHash.Parameters.leastMemoryBytes)
        }
        return KeySlot.Hashing(parameters: parameters, salt: Randomness.bytes(PasswordHash.saltBytes))
    }

    func key(from passphrase: Bytes, _ hashing: KeySlot.Hashing) throws(KeysFault) -> SecretKey {
        let wanted = hashing.parameters.memoryBytes
        // Asked first: all of it is touched at once, and a control group without room would kill the daemon.
        guard sources.configuration.memory().free - Self.margin >= wanted else { throw .noRoom(bytes: wanted) }
        do throws(SodiumError) {
            return try hashing.salt.withBytes { (salt) throws(SodiumError) in
                try PasswordHash.key(from: passphrase, salt: salt, hashing.parameters)
            }
        } catch { throw .noRoom(bytes: wanted) }
    }

    // MARK: Making

    /// The slots of a first start: one for each source that is configured, else one for a new keys/root.key.
    func create() throws(KeysFault) -> OpenedKeys {
        let keys: OpenedKeys
        var known: [UInt32: SecretKey] = [:]
        let kinds = sources.configured.isEmpty ? [.keyFile] : sources.configured
        do throws(SodiumError) {
            let root = try SecretKey()
            let lasting = try SecretKey()
            var slots = KeySlots(
                storeID: Randomness.bytes(KeySlots.storeIDBytes), epoch: 1, nextID: UInt32(kinds.count) + 1,
                sealedLasting: [], slots: [], retired: [])
            slots.sealLasting(lasting, under: root)
            keys = OpenedKeys(slots: slots, roots: [(1, root)], lasting: lasting)
        } catch { throw .outOfMemory }
        var made = keys
        for (index, kind) in kinds.enumerated() {
            let key = kind == .keyFile ? try firstKey() : try sources.key(kind)
            let slot = KeySlot(
                id: UInt32(index) + 1, kind: kind, label: [], createdAt: sources.files.clock.wall, sealedRoot: [])
            made.slots.slots.append(made.slots.sealing(made.roots[0].key, in: slot, under: key))
            known[slot.id] = key
        }
        try write(made, knowing: known)
        return made
    }

    /// The key in root.key, which is made when there is none. One that is there may be the key of slots that somebody is about to bring back: it is not
    /// written over, and another would be no better.
    private func firstKey() throws(KeysFault) -> SecretKey {
        let path = sources.files.rootKeyPath
        return FileSystem.exists(path) ? try sources.key(.keyFile) : try sources.files.makeKey(path)
    }

    /// A new root key: every slot gets it, and the old one stays under it. The slot of keys/root.key gets another key as well, in root.key.next:
    /// `KeyFiles.finish` puts it into its place. The keys of other slots are not the daemon's to change.
    ///
    /// Each slot's key has to be at hand, since a slot that still had the old root key would lead whoever has that slot's key to nothing.
    ///
    /// - Throws: `keysNeeded` naming the slots whose keys are not.
    func rotate(_ keys: inout OpenedKeys, passphrase: Bytes) throws(KeysFault) {
        guard let old = keys.roots.last, keys.slots.retired.count < KeySlots.mostRetired, old.epoch < .max,
            keys.recent.count < KeySlots.mostRecent
        else { throw .tooManySlots }
        var known: [UInt32: SecretKey] = [:]
        var missing: [UInt32] = []
        for slot in keys.slots.slots {
            do throws(KeysFault) {
                if let hashing = slot.hashing {
                    guard !passphrase.isEmpty else { throw .wrongKey }
                    let key = try key(from: passphrase, hashing)
                    _ = try Self.root(keys.slots, slot, key)
                    known[slot.id] = key
                } else {
                    known[slot.id] = try root(keys.slots, slot).key
                }
            } catch {
                switch error {
                case .wrongKey, .noSuchSource: missing.append(slot.id)
                default: throw error
                }
            }
        }
        guard missing.isEmpty else { throw .keysNeeded(missing) }
        // A copy of the old file opens the root keys up to now. The new file opens the next one.
        for slot in keys.slots.slots where slot.kind == .keyFile {
            known[slot.id] = try sources.files.makeKey(sources.files.nextKeyPath)
        }
        let fresh: SecretKey
        let lasting: SecretKey
        do throws(SodiumError) { (fresh, lasting) = (try SecretKey(), try SecretKey()) } catch { throw .outOfMemory }
        var slots = keys.slots
        slots.epoch += 1
        (slots.retired, slots.recent) = ([], [])
        for root in keys.roots { slots.retire(root.key, epoch: root.epoch, under: fresh) }
        slots.sealLasting(keys.lasting, under: fresh)
        keys.recent.append((slots.epoch, lasting))
        for key in keys.recent { slots.addRecent(key.key, epoch: key.epoch, under: fresh) }
        for index in slots.slots.indices {
            let slot = slots.slots[index]
            guard let key = known[slot.id] else { continue }
            slots.slots[index] = slots.sealing(fresh, in: slot, under: key)
        }
        keys.slots = slots
        keys.roots.append((slots.epoch, fresh))
        try write(keys, knowing: known)
    }

    // MARK: Writing

    /// Writes the slots, and lets go of the old file only when what was read back from the disk opens.
    ///
    /// - Parameters:
    ///   - keys: the slots, and what they must lead to.
    ///   - known: keys of slots by their numbers: each is tried.
    /// - Throws: `damaged` when what was read back does not open; what keeps it from being written.
    func write(_ keys: OpenedKeys, knowing known: [UInt32: SecretKey] = [:]) throws(KeysFault) {
        guard let root = keys.roots.last?.key else { throw .sealed }
        let text: [UInt8]
        do throws(SodiumError) { text = try keys.slots.text(root: root) } catch { throw .outOfMemory }
        try sources.files.replaceSlots(text) { (text) throws(KeysFault) in
            let slots = try KeySlots(reading: text)
            let opened = try OpenedKeys(slots, text: text, root: root)
            func isSame(_ found: [(epoch: UInt32, key: SecretKey)], _ wanted: [(epoch: UInt32, key: SecretKey)]) -> Bool
            {
                found.count == wanted.count
                    && zip(found, wanted).allSatisfy { $0.epoch == $1.epoch && $0.key.equals($1.key) }
            }
            guard opened.lasting.equals(keys.lasting), isSame(opened.roots, keys.roots),
                isSame(opened.recent, keys.recent)
            else { throw .damaged("what was written does not lead to the keys") }
            for slot in slots.slots {
                guard let key = known[slot.id] else { continue }
                guard try Self.root(slots, slot, key).equals(root) else {
                    throw .damaged("what was written does not lead to the keys")
                }
            }
        }
    }
}
