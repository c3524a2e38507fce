import KuraBytes

/// What a recovery has lost of a scope: a snapshot leaves it out by rule (`backup: false` settings, secrets bound to their host), or it could not
/// be read of damaged tables.
public struct RecoveredOmission: Equatable, Sendable {
    public var store: String
    /// Domain, collection or service; empty for none, and where nobody may read it.
    public var scope: String
    /// Items, as of the start state.
    public var count: Int
    public var reason: BackupManifest.LeftOut.Reason

    init(store: String, scope: String, count: Int, reason: BackupManifest.LeftOut.Reason) {
        (self.store, self.scope, self.count, self.reason) = (store, scope, count, reason)
    }

    /// More of them are told as their sum, without a scope.
    public static let most = 256

    /// By scope: single items of one are counted together.
    static func all(in manifest: BackupManifest) -> [RecoveredOmission] {
        var all: [RecoveredOmission] = []
        for item in manifest.leftOut {
            let scope = all.count < most ? String(decoding: item.scope, as: UTF8.self) : ""
            if let position = all.firstIndex(where: {
                $0.store == item.store && $0.scope == scope && $0.reason == item.reason
            }) {
                all[position].count += item.count
            } else {
                all.append(RecoveredOmission(store: item.store, scope: scope, count: item.count, reason: item.reason))
            }
        }
        return all.sorted { ($0.store, $0.scope) < ($1.store, $1.scope) }
    }

    init?(_ note: NoteReader) {
        guard let reason = BackupManifest.LeftOut.Reason(rawValue: note.text("reason")) else { return nil }
        self.init(store: note.text("store"), scope: note.text("scope"), count: note.count("count"), reason: reason)
    }

    func append(to text: inout ByteBuffer) {
        text.append("{\"format\":1")
        text.append(note: "store", store)
        text.append(note: "scope", scope)
        text.append(note: "count", Int64(count))
        text.append(note: "reason", reason.rawValue)
        text.append("}")
    }

    /// For the log.
    private var words: String {
        let why =
            switch reason {
            case .marked: "backup: false"
            case .deviceOnly: "bound to this host"
            case .damaged: "damaged"
            case .locked: "locked when it was made"
            }
        return "\(store)\(scope.isEmpty ? "" : "/\(scope)") (\(count), \(why))"
    }

    static func line(_ all: [RecoveredOmission]) -> String {
        guard !all.isEmpty else { return "" }
        let shown = all.prefix(8).map(\.words).joined(separator: ", ")
        return ", BUT FOR \(shown)" + (all.count > 8 ? " and \(all.count - 8) more" : "")
    }
}
