public import KuraBytes
import KuraJSON
import SQLite

/// What a backup says of itself at its end.
public struct BackupManifest: Equatable, Sendable {
    /// What is not in it, and why.
    public struct LeftOut: Equatable, Sendable {
        public enum Reason: String, Sendable, CaseIterable {
            /// Configured with `backup: false`.
            case marked
            /// Bound to its host.
            case deviceOnly
            /// Its content is not what was stored, or is missing; of the secrets, their records or keys. Single secrets, or all of a
            /// service, are in it as they are, and would not open.
            case damaged
            /// The secrets were locked when the snapshot was made.
            case locked
        }
        public var store: String
        /// Domain, collection or service; empty for none. Secrets are named in encrypted backups only: elsewhere nobody may read
        /// what they are called.
        public var scope: [UInt8] = []
        /// Key, id or account; empty where the whole scope is meant.
        public var name: [UInt8] = []
        public var count: Int
        public var reason: Reason

        public init(store: String, scope: [UInt8] = [], name: [UInt8] = [], count: Int, reason: Reason) {
            self.store = store
            self.scope = scope
            self.name = name
            self.count = count
            self.reason = reason
        }
    }

    /// Names the history that the revisions belong to.
    public var epoch = ""
    /// Everything is as of this revision.
    public var rev: UInt64 = 0
    /// Milliseconds since 1970.
    public var createdAt: Int64 = 0
    public var counts = Counts()
    public var leftOut: [LeftOut] = []
    /// What was asked for, when that was not all: stores, or `store/scope`.
    public var include: [[UInt8]] = []
    /// It has sealed secrets, and only the root key of where it was made opens them.
    public var needsRootKey = false
    /// Layout of the tables that it was made of; 0 where that is not said.
    public var schema = 0
    /// What has this revision or an earlier one came from a seed bundle; 0 without one.
    public var seededRev: UInt64 = 0
    /// Namespaces and entries of the model cache, in a seed bundle.
    public var namespaces = 0
    public var models = 0
    /// Epoch that the key of the proof began with; 0 where that is not said, and before the first rotation.
    public var keyEpoch: UInt32 = 0
    /// The proof of origin; nil when the daemon had no keys at hand.
    var proof: BackupProof?

    public init() {}

    /// It may have something of the tables: settings or documents.
    var hasTables: Bool { include.isEmpty || include.contains { !$0.starts(with: Array("models".utf8)) } }

    /// Something is not in it since it was damaged.
    var leavesOutDamage: Bool { leftOut.contains { $0.reason == .damaged } }

    /// It goes without the secrets, since they were locked, or their records or keys did not fit.
    var leavesOutSecrets: Bool {
        leftOut.contains { $0.store == "secrets" && ($0.reason == .locked || $0.reason == .damaged) }
    }

    /// What nobody has asked to be left out, in words for the log: counts and reasons, no names. Empty for nothing.
    public var shortfall: String {
        var words: [String] = []
        for reason in [LeftOut.Reason.damaged, .locked] {
            for store in Set(leftOut.filter { $0.reason == reason }.map(\.store)).sorted() {
                let count = leftOut.reduce(0) { $0 + ($1.store == store && $1.reason == reason ? $1.count : 0) }
                words.append("\(store) (\(count), \(reason.rawValue))")
            }
        }
        return words.joined(separator: ", ")
    }

    public func append(to text: inout ByteBuffer) {
        text.append("{\"epoch\":\"")
        text.append(text: epoch)
        text.append("\",\"rev\":")
        text.append(text: String(rev))
        text.append(",\"createdAt\":")
        text.append(text: String(createdAt))
        text.append(",\"needsRootKey\":")
        text.append(needsRootKey ? "true" : "false")
        for (name, number) in [
            ("schema", schema), ("seededRev", Int(seededRev)), ("namespaces", namespaces), ("models", models),
            ("keyEpoch", Int(keyEpoch)),
        ] where number > 0 {
            text.append(",\"")
            text.append(text: name)
            text.append("\":")
            text.append(text: String(number))
        }
        text.append(",\"counts\":{")
        for (position, (name, count)) in counts.named().enumerated() {
            if position > 0 { text.append(",") }
            text.append("\"")
            text.append(text: name)
            text.append("\":")
            text.append(text: String(count))
        }
        text.append("},\"include\":[")
        for (position, name) in include.enumerated() {
            if position > 0 { text.append(",") }
            name.withBytes { text.append(quotedName: $0) }
        }
        text.append("],\"leftOut\":[")
        for (position, item) in leftOut.enumerated() {
            if position > 0 { text.append(",") }
            text.append("{\"store\":\"")
            text.append(text: item.store)
            text.append("\",\"scope\":")
            item.scope.withBytes { text.append(quotedName: $0) }
            text.append(",\"name\":")
            item.name.withBytes { text.append(quotedName: $0) }
            text.append(",\"count\":")
            text.append(text: String(item.count))
            text.append(",\"reason\":\"")
            text.append(text: item.reason.rawValue)
            text.append("\"}")
        }
        text.append("]")
        if let proof { proof.append(to: &text) } else { text.append("}") }
    }

    /// Says of its origin what `key` proves. `before`: digest of the file before the manifest's frame.
    mutating func prove(with key: OriginKey, before: [UInt8]) {
        proof = nil
        keyEpoch = key.epoch
        var text = ByteBuffer()
        append(to: &text)
        proof = key.proof(before: before, text.bytes(0..<text.count - 1))
    }

    /// - Throws: `malformed` when the text is none of ours.
    init(_ text: Bytes) throws(BackupFault) {
        var isWhole = 0
        for member in StoredValue(text).members {
            switch String(member.name) {
            case "epoch":
                epoch = String(member.value.quoted)
                isWhole += 1
            case "rev":
                rev = UInt64(String(member.value.text)) ?? 0
                isWhole += 1
            case "createdAt": createdAt = Int64(String(member.value.text)) ?? 0
            case "schema": schema = Int(String(member.value.text)) ?? .max
            case "seededRev": seededRev = UInt64(String(member.value.text)) ?? 0
            case "namespaces": namespaces = Int(String(member.value.text)) ?? 0
            case "models": models = Int(String(member.value.text)) ?? 0
            case "keyEpoch": keyEpoch = UInt32(String(member.value.text)) ?? 0
            case "needsRootKey": needsRootKey = member.value.text.equals("true")
            case "counts":
                for count in member.value.members {
                    counts.set(String(count.name), Int(String(count.value.text)) ?? 0)
                }
            case "include": include = member.value.elements.map { ResolvedText.bytes($0.quoted) }
            case "leftOut":
                for element in member.value.elements { leftOut.append(try LeftOut(element)) }
            default: break
            }
        }
        proof = BackupProof(endOf: text)
        guard isWhole == 2, RecordGuard.admits(self, text) else { throw .malformed }
    }

    /// The same, of a layout that is known.
    init(checking text: Bytes) throws(BackupFault) {
        self = try BackupManifest(text)
        guard schema <= Int(Tables.migrator.newestVersion) else {
            throw .newerSchema(found: schema, known: Int(Tables.migrator.newestVersion))
        }
    }
}

extension BackupManifest.LeftOut {
    fileprivate init(_ element: StoredValue) throws(BackupFault) {
        var reason: Reason?
        self.init(store: "", count: 0, reason: .marked)
        for member in element.members {
            switch String(member.name) {
            case "store": store = String(member.value.quoted)
            case "scope": scope = ResolvedText.bytes(member.value.quoted)
            case "name": name = ResolvedText.bytes(member.value.quoted)
            case "count": count = Int(String(member.value.text)) ?? 0
            case "reason": reason = Reason(rawValue: String(member.value.quoted))
            default: break
            }
        }
        guard let reason else { throw .malformed }
        self.reason = reason
    }
}
