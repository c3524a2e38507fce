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
struct SecretsMark {
    private static let row: StaticString = "mark"
    let sealed: [UInt8]

    /// One that was read; empty for none.
    init(sealed: [UInt8] = []) { self.sealed = sealed }

    init(changes: UInt64, newestRecord: UInt64, _ sealer: AuditSealer) {
        var text = SecretBuffer()
        text.append(littleEndian: changes)
        text.append(littleEndian: newestRecord)
        var sealed = ByteBuffer()
        sealer.seal(text.bytes, .mark, row: Bytes(Self.row), to: &sealed)
        self.sealed = Array(sealed.bytes)
    }

    var isEmpty: Bool { sealed.isEmpty }

    /// Whether more was noted than there is; nil when it does not open.
    func tells(moreThan changes: UInt64, newestRecord: UInt64, _ sealer: AuditSealer) -> Bool? {
        var opened = SecretBuffer()
        let isOpen: Void? = try? sealed.withBytes { (mark) throws(SecretsError) in
            try sealer.open(mark, .mark, row: Bytes(Self.row), into: &opened)
        }
        guard isOpen != nil else { return nil }
        return opened.count == 16
            && (opened.bytes.littleEndian(0, UInt64.self) > changes
                || opened.bytes.littleEndian(8, UInt64.self) > newestRecord)
    }
}
