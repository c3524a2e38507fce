import KuraBytes
import KuraProtocol
import KuraStorage

/// Answers what reads and checks the audit.
extension SecretsHandlers {
    /// Blocks that one request looks at: some two milliseconds.
    private static let blocks = 128

    static func audit(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        let service = call.has(SecretsAudit.service) ? call[SecretsAudit.service] : nil
        let limit = Int(call[SecretsAudit.limit] ?? 100)
        var since: Int64 = 0
        if call.has(SecretsAudit.since) {
            guard let time = Timestamp.milliseconds(call[SecretsAudit.since]) else {
                throw call.refuse("a time as in 2030-01-31T12:00:00Z", SecretsAudit.since)
            }
            since = time
        }
        let page = try call.page(cursor: SecretsAudit.cursor, of: SecretsAudit.service)
        let position = try self.position(page, call, SecretsAudit.cursor)
        // What has been noted so far is shown as well.
        storage.stageAuditNow()
        out.openObject()
        out.openList(.records)
        let start = out.count
        var count = 0
        let next = try call.run { () throws(SecretsError) in
            try storage.secrets.audit.records(from: position, since: since, most: blocks) { record in
                if let service, !record.event.name.service.equals(service) { return true }
                guard count < limit, count == 0 || out.count - start < 1 << 20 else { return false }
                out.wipes = true
                out.append(record)
                count += 1
                return true
            }
        }
        out.closeList()
        if let next { append(next, page, to: &out) }
        out.closeObject()
        call.shows(storage.rev)
    }

    static func auditVerify(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        let page = try call.page(cursor: SecretsAuditVerify.cursor)
        let position = try self.position(page, call, SecretsAuditVerify.cursor)
        storage.stageAuditNow()
        let check = try call.run { () throws(SecretsError) in
            try storage.secrets.audit.verify(from: position?.block, most: blocks)
        }
        out.openObject()
        out.append(.valid, check.fault == nil)
        if let fault = check.fault {
            out.append(.firstBroken, check.broken)
            out.append(.reason, word: fault.word)
        }
        out.append(.records, check.records)
        out.append(.newest, check.newest)
        if !check.link.isEmpty { check.link.withBytes { out.append(.head, base64: $0) } }
        if let next = check.next { append(Audit.Position(block: next, record: 0), page, to: &out) }
        out.closeObject()
        call.shows(storage.rev)
    }

    // MARK: Cursors

    private static func append(_ position: Audit.Position, _ page: ListPage, to out: inout ByteBuffer) {
        var key = ByteBuffer(capacity: 16)
        key.append(littleEndian: position.block)
        key.append(littleEndian: position.record)
        page.append(cursor: key.bytes, to: &out)
    }

    private static func position(
        _ page: ListPage, _ call: Call, _ parameter: TextParameter
    ) throws(Refusal) -> Audit.Position? {
        guard let key = page.after else { return nil }
        guard key.count == 16 else { throw call.refuseCursor(parameter) }
        return key.withBytes { key in
            Audit.Position(
                block: UInt64(littleEndian: key.loadUnaligned(fromByteOffset: 0, as: UInt64.self)),
                record: UInt64(littleEndian: key.loadUnaligned(fromByteOffset: 8, as: UInt64.self)))
        }
    }
}

extension ByteBuffer {
    fileprivate mutating func append(_ record: AuditRecord) {
        let event = record.event
        openObject()
        append(.number, record.number)
        append(.at, record.firstAt)
        if record.count > 1 {
            append(.lastAt, record.lastAt)
            append(.count, record.count)
        }
        append(.method, event.method)
        if !event.outcome.isEmpty { append(.refused, event.outcome) }
        append(.uid, event.user)
        append(.role, event.role)
        if !event.client.isEmpty { append(.client, event.client) }
        if !event.name.service.isEmpty { append(.service, event.name.service) }
        if !event.name.account.isEmpty { append(.account, event.name.account) }
        if !event.name.group.isEmpty { append(.accessGroup, event.name.group) }
        append(.rev, event.rev)
        if record.isUnproved { append(.unproved, true) }
        closeObject()
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
