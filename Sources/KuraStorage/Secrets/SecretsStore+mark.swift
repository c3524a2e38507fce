import KuraBytes
import Sodium

/// How far the secrets have come, outside of their rows: who sets those back, or removes them, and nothing else is noticed.
///
/// The mark lies in DATA/acknowledged, which is written over after each sync of the log: it costs no write of its own. Nobody makes one without the
/// keys, but an older one, with the file that it lay in, may be put back with the rows; the file may be removed; or the name of the history in the
/// tables, which is not sealed, changed. A mark that is not there is no fault: a restore has none, and a power cut may take the first.
///
///     0  u64  changes of secrets
///     8  u64  number of the newest record of the audit
///
/// It is sealed with the audit's key, and lies beside the name of the history. A recovery that has lost something begins another history, which
/// is told, and the mark counts no more.
extension SecretsStore {
    private static let markRow: StaticString = "mark"

    /// What is to be noted with the next sync of the log. Asked when the turn's changes are in the log.
    /// - Returns: nil when nothing has changed; also while what is there is not seen to be as new as what was noted before.
    func takeMark() -> [UInt8]? {
        guard keeper.isMarkDue, acknowledgedMark.isEmpty, ring.isUnlocked, let sealing = try? keeper.auditSealer(),
            let opening = try? keeper.sealer(), let known = try? keeper.storeRecord(opening)
        else { return nil }
        keeper.isMarkDue = false
        var text = SecretBuffer()
        text.append(littleEndian: known.changes)
        text.append(littleEndian: known.audit?.newestRecord ?? 0)
        var sealed = ByteBuffer()
        sealing.seal(text.bytes, .mark, row: Bytes(Self.markRow), to: &sealed)
        return Array(sealed.bytes)
    }

    /// Something was noted of which it is not known yet whether it is there.
    var hasMark: Bool { !acknowledgedMark.isEmpty }

    /// Whether more was noted than is there. Once that is not so it never is: both only grow.
    /// - Throws: `.sealed`.
    func isBehindMark(_ heads: AuditHeads) throws(StoreError) -> Bool {
        guard !acknowledgedMark.isEmpty else { return false }
        let sealer = try keeper.auditSealer()
        var opened = SecretBuffer()
        let isOpen: Void? = try? acknowledgedMark.withBytes { (mark) throws(StoreError) in
            try sealer.open(mark, .mark, row: Bytes(Self.markRow), into: &opened)
        }
        let newest = heads.current?.newestRecord ?? 0
        if isOpen != nil, opened.count == 16,
            opened.bytes.littleEndian(0, UInt64.self) > heads.changes
                || opened.bytes.littleEndian(8, UInt64.self) > newest
        {
            return true
        }
        if isOpen == nil {
            report(
                "secrets: the mark in DATA/acknowledged does not open, since it was altered or is of before a rotation: whether the secrets and their audit were set back since the last stop is not known"
            )
        }
        acknowledgedMark = []
        return false
    }
}
