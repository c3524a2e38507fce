/// The secrets' keys that a backup uses. The loop makes it, and the backup's thread owns it from then on.
final class BackupKeys {
    /// nil when no secrets are taken. The run lets go of them when it ends, and soon after the secrets are locked.
    private var opened: OpenedKeys?
    let lease: KeyLease?
    /// Shows that the backup is ours; nil while the secrets are sealed. It opens nothing.
    let origin: OriginKey?
    /// Secrets are to be in it.
    let areTaken: Bool
    /// They are wanted, and there are none yet.
    let mayCome: Bool
    /// Why it goes without the secrets though they are wanted; nil when it does not.
    let unusable: BackupManifest.LeftOut.Reason?
    private let met: MetDamage

    /// - Throws: `secretsLocked`, `secretsDamaged` when the request does not go without them.
    init(_ request: BackupRequest, _ storage: isolated Storage) throws(BackupFault) {
        let (secrets, ring) = (storage.secrets, storage.keys)
        let isOpen = ring.opened != nil
        // Of those that were removed altogether the mark alone is left.
        let wantsSecrets =
            request.selection.hasSecrets
            && (!secrets.audit.binding.mark.isEmpty || (isOpen ? storage.ledger.holdsSecrets : secrets.rows.hasItems))
        unusable = !wantsSecrets ? nil : !isOpen ? .locked : secrets.audit.binding.areUnvouched ? .damaged : nil
        opened = wantsSecrets && unusable == nil ? ring.opened : nil
        areTaken = opened != nil
        mayCome = request.selection.hasSecrets && !wantsSecrets
        lease = areTaken ? ring.lease : nil
        origin = ring.originKey
        met = secrets.keeper.met
        guard unusable == nil || request.goesWithoutUnusableSecrets else {
            throw unusable == .locked ? .secretsLocked : .secretsDamaged
        }
    }

    /// Takes the secrets up; nil when none are taken.
    func secrets(_ configuration: StorageConfiguration) throws(BackupFault) -> BackupSecrets? {
        try BackupSecrets(configuration, opened, met)
    }

    func letGo() { opened = nil }
}
