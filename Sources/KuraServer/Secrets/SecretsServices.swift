import KuraBytes
import KuraProtocol
import KuraStorage

/// Answers what tells of services: how many secrets one has, and when it changed last. A role that sees some of a service's access groups is
/// told of the secrets in those alone.
extension SecretsHandlers {
    /// Secrets that one request opens to count those that its role sees: some milliseconds.
    private static let looks = 1000

    /// What of a service a role sees; nil: there are too many to look at.
    private typealias Visible = (count: Int, rev: UInt64)

    static func describe(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        let name = call[SecretsDescribe.service]
        let seesAll = call.seesEachGroup(of: name)
        var left = looks
        let visible = seesAll ? nil : try visible(name, &left, call, storage)
        var isThere = false
        try call.run { () throws(SecretsError) in
            try storage.secrets.describe(service: name) { service in
                guard visible?.count != 0 else { return }
                isThere = true
                let shown = seesAll ? (service.count, service.rev) : visible
                out.openObject()
                if let shown { out.append(.count, shown.count) }
                out.append(.maxVersions, service.maxVersions)
                out.append(.auditReads, word: service.auditsEachRead ? "each" : "batched")
                if !service.installation.isEmpty { out.append(.installation, service.installation) }
                if seesAll { out.append(.keyNumber, service.keyNumber) }
                if service.isRewrapping { out.append(.rewrapping, true) }
                // It changes with each secret of the service.
                if seesAll { out.append(.head, hexadecimal: service.head) }
                if let shown { out.append(.rev, shown.rev) }
                out.closeObject()
                call.shows(service.rev)
            }
        }
        guard !isThere else { return }
        out.openObject()
        out.append(.count, 0)
        out.append(.maxVersions, 10)
        out.append(.rev, 0)
        out.closeObject()
    }

    static func scopes(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        var partial: [[UInt8]] = []
        out.openObject()
        out.openList(.scopes)
        func append(_ name: Bytes, _ visible: Visible?) {
            out.wipes = true
            out.openObject()
            out.append(.service, name)
            if let visible {
                out.append(.count, visible.count)
                out.append(.rev, visible.rev)
            }
            out.closeObject()
        }
        try call.run { () throws(SecretsError) in
            try storage.secrets.services { service in
                guard call.shows(.list, .secrets, service: service.name, group: .any) else { return }
                if call.seesEachGroup(of: service.name) {
                    append(service.name, (service.count, service.rev))
                } else {
                    partial.append(Array(service.name))
                }
            }
        }
        var left = looks
        for name in partial {
            try name.withBytes { (name) throws(Refusal) in
                let visible = try visible(name, &left, call, storage)
                if visible?.count != 0 { append(name, visible) }
            }
        }
        out.closeList()
        out.append(.rev, storage.rev)
        out.closeObject()
        call.shows(storage.rev)
    }

    /// Counts the secrets of a service that the caller sees. `left`: secrets that may still be looked at.
    private static func visible(
        _ service: Bytes, _ left: inout Int, _ call: Call, _ storage: isolated Storage
    ) throws(Refusal) -> Visible? {
        guard left > 0 else { return nil }
        var looked = 0
        var found: Visible = (0, 0)
        let end = try call.run { () throws(SecretsError) in
            try storage.secrets.list(service: service, after: nil, most: left, enters: { _ in true }) { item in
                looked += 1
                if call.shows(.list, .secrets, service: service, group: .of(item.name.group)) {
                    found.count += 1
                    found.rev = max(found.rev, item.rev)
                }
                return true
            }
        }
        left -= looked
        guard end == nil else {
            left = 0
            return nil
        }
        return found
    }
}
