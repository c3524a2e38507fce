import KuraBytes
import KuraProtocol
import KuraStorage

/// Answers `secrets.verify` and `secrets.repair`: a look at everything that is there, some of it a turn.
extension SecretsHandlers {
    static func verify(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        let checkup = try run(
            call, service: call.has(SecretsVerify.service) ? call[SecretsVerify.service] : nil, storage)
        out.openObject()
        out.append(.services, checkup.services)
        out.append(.secrets, checkup.findings.items)
        out.append(.versions, checkup.findings.versions)
        append(checkup.findings, to: &out)
        out.append(.rev, storage.rev)
        out.closeObject()
        call.shows(storage.rev)
    }

    static func repair(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        let service = call.has(SecretsRepair.service) ? call[SecretsRepair.service] : nil
        guard isConfirmed(call[SecretsRepair.confirm], service, storage) else {
            throw .error(
                RPCError(
                    .invalidParams,
                    hint: "the service's name once more, or storeId of secrets.status without a service",
                    parameter: call.name(SecretsRepair.confirm)))
        }
        guard let service else {
            let checkup = try run(call, service: nil, ofAudit: true, storage)
            let rev = try call.run { () throws(SecretsError) in
                try storage.secrets.repairStore(checkup, by: call.author(storage))
            }
            append(SecretsStore.Repair(rev: rev), nil, call, to: &out)
            return
        }
        let checkup = try run(call, service: service, condemnsOtherHostKey: call[SecretsRepair.otherHostKey], storage)
        guard checkup.findings.damageCount > 0 else {
            append(SecretsStore.Repair(rev: storage.rev, kept: checkup.findings.items), checkup, call, to: &out)
            return
        }
        let repair = try call.run { () throws(SecretsError) in
            try storage.secrets.repair(service: service, checkup, by: call.author(storage))
        }
        append(repair, checkup, call, to: &out)
    }

    /// `checkup`: what was looked at; nil when nothing had to be.
    private static func append(
        _ repair: SecretsStore.Repair, _ checkup: SecretsCheckup?, _ call: Call, to out: inout ByteBuffer
    ) {
        call.append(rev: repair.rev, to: &out)
        out.append(.kept, repair.kept)
        out.append(.lostSecrets, repair.lostItems)
        out.append(.lostVersions, repair.lostVersions)
        if let checkup {
            append(checkup.findings, to: &out)
        } else {
            out.openList(.damaged)
            out.closeList()
            out.append(.damagedCount, 0)
        }
        out.closeObject()
    }

    private static func isConfirmed(_ confirmation: Bytes, _ service: Bytes?, _ storage: isolated Storage) -> Bool {
        if let service { return confirmation.equals(service) }
        var text = ByteBuffer()
        storage.keys.storeID.withBytes { text.append(hexadecimal: $0) }
        return confirmation.equals(text.bytes)
    }

    /// The checkup that the request is about, done; before that the request goes on in the next turn.
    /// - Parameters:
    ///   - call: the request.
    ///   - service: only of this one; nil for all.
    ///   - ofAudit: of the audit alone, for a repair.
    ///   - condemnsOtherHostKey: values that another keys/host.key opens are damage as well.
    ///   - storage: where it looks.
    /// - Returns: the checkup.
    /// - Throws: what is wrong with the request, or that it waits.
    static func run(
        _ call: Call, service: Bytes?, ofAudit: Bool = false, condemnsOtherHostKey: Bool = false,
        _ storage: isolated Storage
    ) throws(Refusal) -> SecretsCheckup {
        // Ahead of another request one slice has to do.
        let begun = call.begin()
        let checkup: SecretsCheckup
        if let known = begun?.progress.work as? SecretsCheckup, !known.isDone, storage.secrets.isCurrent(known) {
            checkup = known
        } else {
            checkup = try call.run { () throws(SecretsError) in
                try ofAudit
                    ? storage.secrets.auditCheckup()
                    : storage.secrets.checkup(service: service, condemnsOtherHostKey: condemnsOtherHostKey)
            }
            begun?.progress.work = checkup
        }
        do throws(SecretsError) { try storage.secrets.goOn(checkup) } catch {
            throw Refusal(error, call: call)
        }
        begun?.progress.work = nil
        return checkup
    }

    private static func append(_ findings: borrowing CheckupFindings, to out: inout ByteBuffer) {
        out.openList(.damaged)
        for damage in findings.damages {
            out.wipes = true
            out.openObject()
            out.append(.what, word: damage.what.word)
            for (member, text) in [
                (.service, findings.service(of: damage)), (.account, findings.account(of: damage)),
                (.accessGroup, findings.group(of: damage)),
            ] as [(TextMember, Bytes)] where !text.isEmpty { out.append(member, text) }
            if !damage.row.isEmpty { out.append(.row, damage.row) }
            if damage.version > 0 { out.append(.version, damage.version) }
            if damage.what == .sum { out.append(.missing, max(0, damage.missing)) }
            out.closeObject()
        }
        out.closeList()
        out.append(.damagedCount, findings.damageCount)
        if findings.otherHostKey > 0 { out.append(.otherHostKey, findings.otherHostKey) }
    }
}

extension SecretDamage.What {
    var word: StaticString {
        switch self {
        case .store: "store"
        case .service: "service"
        case .sum: "sum"
        case .item: "secret"
        case .version: "version"
        case .audit: "audit"
        }
    }
}
