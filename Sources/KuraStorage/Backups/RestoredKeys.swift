import KuraBytes
import Sodium

/// What leads to the keys of the secrets that came along.
struct RestoredKeys {
    private var text: [UInt8]
    /// nil: only what opened the secrets where they come from opens them.
    private var root: SecretKey?

    /// The text of slots.json in a frame; nil when there is none.
    static func slotsText(_ payload: Bytes) -> [UInt8]? {
        guard payload.count >= 4 else { return nil }
        let length = Int(UInt32(littleEndian: payload.loadUnaligned(as: UInt32.self)))
        guard length <= payload.count - 4 else { return nil }
        return Array(payload.extracting(4..<4 + length))
    }

    init(_ payload: Bytes, fileKey: SecretKey?) throws(BackupFault) {
        guard let text = Self.slotsText(payload) else { throw .malformed }
        self.text = text
        let sealed = payload.extracting(4 + text.count..<payload.count)
        guard let fileKey, !sealed.isEmpty else { return }
        let key = try fileKey.backupRootKey()
        let slots: KeySlots
        do throws(KeysFault) { slots = try KeySlots(reading: text) } catch { throw .malformed }
        do throws(SodiumError) {
            root = try slots.storeID.withBytes { (storeID) throws(SodiumError) in
                try AEAD.openKey(sealed, key: key, associated: storeID)
            }
        } catch { throw error == .outOfMemory ? .outOfMemory : .malformed }
    }

    /// For secrets up to this epoch, which a log may have brought along: the slots of after a rotation take the place of the backup's. A root key that
    /// came with the backup stays under the new one, for what the rotation had not sealed anew by then.
    ///
    /// - Throws: `refused` when nobody has brought them.
    func fitting(epoch: UInt32, _ brought: BroughtKeys?) throws(BackupFault) -> RestoredKeys {
        let slots: KeySlots
        do throws(KeysFault) { slots = try KeySlots(reading: text) } catch { throw .malformed }
        guard slots.epoch < epoch else { return self }
        guard var newer = try brought?.opened(), newer.slots.storeID == slots.storeID,
            newer.roots.contains(where: { $0.epoch == epoch }), let newest = newer.roots.last?.key
        else {
            throw .refused(
                "the log has secrets that were sealed after a rotation of the root key, and no keys of then were brought: --keys DIR, with root.key and slots.json"
            )
        }
        var fitting = self
        do throws(SodiumError) {
            if let root, !newer.roots.contains(where: { $0.epoch == slots.epoch }) {
                newer.slots.retire(root, epoch: slots.epoch, under: newest)
                newer.slots.retired.sort { $0.epoch < $1.epoch }
            }
            if root != nil { fitting.root = newest }
            fitting.text = try newer.slots.text(root: newest)
        } catch { throw .outOfMemory }
        return fitting
    }

    /// - Returns: what opens the secrets, one of which is still to be brought; none when they open as they are.
    /// - Throws: what keeps the files from being written.
    func write(_ configuration: StorageConfiguration) throws(BackupFault) -> [KeySlot.Kind] {
        let files = KeyFiles(configuration)
        do throws(StorageFault) { try FileSystem.makeDirectory(configuration.keysDirectory) } catch {
            throw BackupFault(error)
        }
        do throws(KeysFault) {
            var slots = try KeySlots(reading: text)
            guard let root else {
                try files.replaceSlots(text) { (read) throws(KeysFault) in
                    guard read == text else { throw .damaged("it was not written as it should be") }
                }
                return slots.slots.map(\.kind)
            }
            // Slots of files and descriptors are those of another host. Passphrases stay good.
            slots.slots.removeAll { $0.kind != .passphrase }
            let key = try files.makeKey(files.rootKeyPath)
            let slot = KeySlot(
                id: slots.nextID, kind: .keyFile, label: [], createdAt: configuration.clock.wall, hashing: nil,
                sealedRoot: [])
            slots.nextID += 1
            slots.slots.append(slots.sealing(root, in: slot, under: key))
            let renewed: [UInt8]
            do throws(SodiumError) { renewed = try slots.text(root: root) } catch { throw .outOfMemory }
            try files.replaceSlots(renewed) { (read) throws(KeysFault) in
                guard read == renewed else { throw .damaged("it was not written as it should be") }
            }
            return []
        } catch {
            if error == .noSpace { throw .noSpace }
            throw .refused("keys: \(error)")
        }
    }
}
