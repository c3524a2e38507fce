import KuraBytes
import KuraProtocol
import KuraStorage

/// Answers what reads and checks the audit.
enum SecretsAuditHandlers {
    static let all: [String: Handler] = ["secrets.audit": audit, "secrets.auditVerify": verify]

    /// Blocks that one request looks at: some two milliseconds.
    private static let blocks = 128

    static func audit(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        let reader = call.reader
        let service = reader.has(SecretsAudit.service) ? reader[SecretsAudit.service] : nil
        let limit = Int(reader[SecretsAudit.limit] ?? 100)
        var since: Int64 = 0
        if reader.has(SecretsAudit.since) {
            guard let time = Timestamp.milliseconds(reader[SecretsAudit.since]) else {
                throw call.refuse("a time as in 2030-01-31T12:00:00Z", SecretsAudit.since)
            }
            since = time
        }
        let page = try call.page(cursor: SecretsAudit.cursor, of: SecretsAudit.service)
        let position = try self.position(page, call, SecretsAudit.cursor)
        // What has been noted so far is shown as well.
        storage.stageAuditNow()
        out.append("{\"records\":[")
        let start = out.count
        var count = 0
        let next = try call.run { () throws(StoreError) in
            try storage.secrets.audit(from: position, since: since, most: blocks) { record in
                if let service, !record.event.name.service.equals(service) { return true }
                guard count < limit, count == 0 || out.count - start < 1 << 20 else { return false }
                if count > 0 { out.append(",") }
                out.wipes = true
                out.append(record)
                count += 1
                return true
            }
        }
        out.append("]")
        if let next { append(next, page, to: &out) }
        out.append("}")
        call.shows(storage.rev)
    }

    static func verify(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        let page = try call.page(cursor: SecretsAuditVerify.cursor)
        let position = try self.position(page, call, SecretsAuditVerify.cursor)
        storage.stageAuditNow()
        let check = try call.run { () throws(StoreError) in
            try storage.secrets.verifyAudit(from: position?.block, most: blocks)
        }
        out.append("{\"valid\":")
        out.append(check.fault == nil ? "true" : "false")
        if let fault = check.fault {
            out.append(",\"firstBroken\":")
            out.append(unsigned: check.broken)
            out.append(",\"reason\":\"")
            out.append(fault.word)
            out.append("\"")
        }
        out.append(",\"records\":")
        out.append(unsigned: check.records)
        out.append(",\"newest\":")
        out.append(unsigned: check.newest)
        if !check.link.isEmpty {
            out.append(",\"head\":\"")
            check.link.withBytes { Base64.encode($0, into: &out) }
            out.append("\"")
        }
        if let next = check.next { append(SecretsStore.AuditPosition(block: next, record: 0), page, to: &out) }
        out.append("}")
        call.shows(storage.rev)
    }

    // MARK: Cursors

    private static func append(_ position: SecretsStore.AuditPosition, _ page: ListPage, to out: inout ByteBuffer) {
        var key = ByteBuffer(capacity: 16)
        key.append(littleEndian: position.block)
        key.append(littleEndian: position.record)
        page.append(cursor: key.bytes, to: &out)
    }

    private static func position(
        _ page: ListPage, _ call: Call, _ parameter: TextParameter
    ) throws(Refusal) -> SecretsStore.AuditPosition? {
        guard let key = page.after else { return nil }
        guard key.count == 16 else { throw call.refuseCursor(parameter) }
        return key.withBytes { key in
            SecretsStore.AuditPosition(
                block: UInt64(littleEndian: key.loadUnaligned(fromByteOffset: 0, as: UInt64.self)),
                record: UInt64(littleEndian: key.loadUnaligned(fromByteOffset: 8, as: UInt64.self)))
        }
    }
}

extension ByteBuffer {
    fileprivate mutating func append(_ record: AuditRecord) {
        let event = record.event
        append("{\"number\":")
        append(unsigned: record.number)
        append(",\"at\":")
        append(timestamp: record.firstAt)
        if record.count > 1 {
            append(",\"lastAt\":")
            append(timestamp: record.lastAt)
            append(",\"count\":")
            append(integer: Int64(record.count))
        }
        append(",\"method\":")
        append(quoted: event.method)
        if !event.outcome.isEmpty {
            append(",\"refused\":")
            append(quoted: event.outcome)
        }
        append(",\"uid\":")
        append(unsigned: UInt64(event.user))
        append(",\"role\":")
        append(quoted: event.role)
        if !event.client.isEmpty {
            append(",\"client\":")
            append(quoted: event.client)
        }
        if !event.name.service.isEmpty {
            append(",\"service\":")
            append(quoted: event.name.service)
        }
        if !event.name.account.isEmpty {
            append(",\"account\":")
            append(quoted: event.name.account)
        }
        if !event.name.group.isEmpty {
            append(",\"accessGroup\":")
            append(quoted: event.name.group)
        }
        append(",\"rev\":")
        append(unsigned: event.rev)
        append(record.isUnproved ? ",\"unproved\":true}" : "}")
    }
}

extension AuditFault {
    /// As the wire calls it.
    fileprivate var word: StaticString {
        switch self {
        case .record: "record"
        case .head: "head"
        case .dropped: "dropped"
        case .setBack, .bothSetBack: "setBack"
        case .secretsSetBack: "secretsSetBack"
        case .beyond: "beyond"
        case .unbound: "unbound"
        }
    }
}
