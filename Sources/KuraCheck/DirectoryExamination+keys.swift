import Glibc
import KuraBytes
import KuraStorage
import Sodium
import SQLite

/// A look at the keys of the secrets.
extension DirectoryExamination {
    mutating func lookAtKeys() {
        let files = KeyFiles(configuration)
        let hasRootKey = FileSystem.exists(files.rootKeyPath)
        for path in [files.rootKeyPath, files.hostKeyPath, files.slotsPath] {
            guard let (mode, _) = Self.mode(path) else { continue }
            if mode & UInt32(S_IFMT) != UInt32(S_IFREG) {
                add(
                    .error, "keys", "\(path) is no regular file",
                    advice: "put back what was there: the daemon follows no links")
            } else if mode & 0o077 != 0 {
                add(
                    .error, "keys", "\(path) can be read by others (mode \(Self.octal(mode)))",
                    advice:
                        "chmod 600 it, then make new keys with 'kura secrets rotate --root-key': whoever has read it has the secrets"
                )
            }
        }
        do throws(KeysFault) {
            guard let text = try files.slotsText() else {
                return lookAtMissingSlots(hasRootKey: hasRootKey)
            }
            // Whose format is newer is told of already, and cannot be read.
            guard KeySlots.format(of: text) ?? 0 <= KeySlots.newestFormat else { return }
            let slots = try KeySlots(reading: text)
            lookAt(slots, hasRootKey: hasRootKey)
        } catch {
            add(
                .error, "keys", "\(error)",
                advice:
                    "put keys/slots.json back from where it was copied; \(Self.starts) unless with --without-secrets")
        }
    }

    private mutating func lookAtMissingSlots(hasRootKey: Bool) {
        if holdsSecrets {
            add(
                .error, "keys", "keys/slots.json is missing, and there are secrets that only its keys open",
                advice:
                    "put keys/ back from where it was copied; \(Self.starts) unless with --without-secrets")
        } else if hasRootKey {
            add(
                .error, "keys", "keys/slots.json is missing, and keys/root.key is there",
                advice: "put slots.json back from where it was copied: without it the secrets cannot be opened")
        } else {
            add(.ok, "keys", "there are no keys, and no secrets")
        }
    }

    /// Whether there is anything that keys have sealed. The tables are read as they lie there, and may lack the newest
    /// changes.
    private var holdsSecrets: Bool {
        if AcknowledgedNote.hasMark(configuration.acknowledgedPath) { return true }
        guard FileSystem.size(configuration.tablesPath) > 0 else { return false }
        do throws(SQLiteError) {
            let tables = try Connection(immutable: configuration.tablesPath)
            defer { tables.close() }
            return try tables.scalar(
                "SELECT 1 FROM scopes WHERE store IN (\(Store.secrets.rawValue), \(Store.secretVersions.rawValue)) AND lastRev > 0 LIMIT 1"
            ) != nil
        } catch {
            // What is damaged is told elsewhere.
            return false
        }
    }

    private mutating func lookAt(_ slots: KeySlots, hasRootKey: Bool) {
        lookAtHostKey()
        let kinds = slots.slots.map(\.kind)
        if KeyFiles(configuration).hasStrayRootKey(slots) {
            return add(
                .warning, "keys", "keys/root.key is there, and no slot of keys/slots.json needs it",
                advice:
                    "kurad overwrites and removes it once the secrets are unlocked; where slots.json is an older one, or another store's, bring the right one back before"
            )
        }
        if FileSystem.exists(KeyFiles(configuration).nextKeyPath) {
            return add(
                .warning, "keys", "keys/root.key.next is left from a rotation that was stopped",
                advice:
                    "once the secrets are unlocked kurad puts it into root.key's place when the slot is its own, and else removes it"
            )
        }
        if kinds.contains(.keyFile), !hasRootKey {
            let others = kinds.filter { $0 != .keyFile }
            add(
                others.isEmpty ? .error : .warning, "keys", "keys/root.key is missing, and a slot needs it",
                advice: others.isEmpty
                    ? "put it back: nothing else opens the secrets"
                    : "put it back, or remove its slot with 'kura secrets remove-slot'")
            return
        }
        if hasRootKey, let failure = failure(ofRootKeyFor: slots) {
            let others = kinds.filter { $0 != .keyFile }
            return add(
                others.isEmpty ? .error : .warning, "keys", failure,
                advice: "put back the root.key that belongs to keys/slots.json; nothing that is sealed is lost")
        }
        let names = Set(kinds.map(\.rawValue)).sorted().joined(separator: ", ")
        add(.ok, "keys", "\(slots.slots.count) slot\(slots.slots.count == 1 ? "" : "s"): \(names)")
        if kinds == [.keyFile] {
            add(
                .note, "keys", "keys/root.key alone opens the secrets, and lies beside them",
                advice:
                    "whoever copies the directory has them: add a slot of another kind (proto-docs/secrets.md), and keep a copy of the key"
            )
        }
    }

    private mutating func lookAtHostKey() {
        let files = KeyFiles(configuration)
        if !FileSystem.exists(files.hostKeyPath) {
            add(
                .note, "keys", "keys/host.key is missing",
                advice:
                    "the next start makes another: secrets that are bound to this host (deviceOnly) open with the old one alone, and no backup has them"
            )
            return
        }
        let size = FileSystem.size(files.hostKeyPath)
        if size != SecretKey.byteCount {
            add(
                .error, "keys", "keys/host.key has \(size) bytes, not \(SecretKey.byteCount)",
                advice:
                    "put the right one back and start kurad again: until then secrets that are bound to this host (deviceOnly) do not open"
            )
        }
        if let at = files.hostKeyRenewedAt {
            add(
                .warning, "keys", "keys/host.key was missing, and was made anew on \(Quarantine.name(at: at))",
                advice:
                    "secrets that were bound to this host (deviceOnly) open with the old one alone: put it back, or write them anew; then 'kura storage acknowledge'"
            )
        }
    }

    /// Why keys/root.key does not open its slot; nil when it does, and when it cannot be tried here.
    private func failure(ofRootKeyFor slots: KeySlots) -> String? {
        let files = KeyFiles(configuration)
        let size = FileSystem.size(files.rootKeyPath)
        guard size == SecretKey.byteCount else { return "keys/root.key has \(size) bytes, not \(SecretKey.byteCount)" }
        guard let slot = slots.slots.first(where: { $0.kind == .keyFile }),
            let key = try? KeySources(KeySourcesConfiguration(), files).key(.keyFile)
        else { return nil }
        do throws(SodiumError) { _ = try slots.root(in: slot, under: key) } catch {
            if error != .outOfMemory { return "keys/root.key opens no slot: it is damaged, or another one" }
        }
        return nil
    }
}
