import KuraBytes
import KuraProtocol
import KuraStorage
import KuraTransport

/// What of a request goes into the audit of secrets, made ready from the method table.
struct AuditRule {
    /// A change, an operation with keys, or a token: its reply waits until it is in the audit.
    let isStrict: Bool
    /// It is not done when the audit cannot take it: all but what locks, or looks into the audit.
    let isKept: Bool
    /// Positions of what it is about; nil where the method has none.
    let service: Int?
    let account: Int?
    let group: Int?

    /// What shows neither a secret nor what is known of one.
    private static let exempt: Set<String> = ["secrets.status", "secrets.describe", "secrets.scopes"]

    /// nil for what is not in the audit.
    init?(_ method: Method) {
        guard method.store == .secrets, !Self.exempt.contains(method.name) else { return nil }
        isStrict = method.access == .write
        isKept = !["secrets.lock", "secrets.audit", "secrets.auditVerify", "secrets.unlock"].contains(method.name)
        func position(_ name: String) -> Int? { method.parameters.firstIndex { $0.name == name } }
        (service, account, group) = (position("service"), position("account"), position("accessGroup"))
    }
}

/// The one place where the audit is written from.
extension Call {
    /// Performs what the audit is to know of.
    func perform(_ rule: AuditRule, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        _ = storage.secrets.takeAuditsEachRead()
        isNoted = false
        if rule.isKept { try refuseUnlessAudited(rule.isStrict, storage) }
        do throws(Refusal) { try performAnything(&out, storage) } catch {
            // `authorize` has noted what is forbidden; what cannot be read is about nothing.
            if case .error(let refused) = error, refused.kind != .forbidden, refused.kind != .invalidParams {
                note(rule, refused.kind, storage)
            }
            throw error
        }
        guard !isNoted else { return }
        if storage.secrets.auditsEachRead, rule.isKept {
            do throws(Refusal) { try refuseUnlessAudited(true, storage) } catch {
                if case .error(let refused) = error { note(rule, refused.kind, storage) }
                throw error
            }
        }
        note(rule, nil, storage)
    }

    /// What cannot be put into the audit is not done, unless the role's policy says otherwise.
    /// - Parameters:
    ///   - isStrict: whether it has to be there before it is answered.
    ///   - storage: of which the audit is.
    /// - Throws: `noSpace` or `integrity`.
    private func refuseUnlessAudited(_ isStrict: Bool, _ storage: isolated Storage) throws(Refusal) {
        guard connection?.permissions?.auditFailure != .open else { return }
        if isStrict, storage.secrets.isAuditWithoutRoom {
            throw .error(RPCError(.noSpace, hint: "the audit has no room, and the role's auditFailure is closed"))
        }
        do throws(StoreError) { try storage.secrets.prepareAudit() } catch {
            guard error == .integrity else { throw Refusal(error, call: self) }
            throw .error(
                RPCError(.integrity, hint: "the audit has been altered, and the role's auditFailure is closed"))
        }
    }

    /// Notes what the request has come to.
    func note(_ rule: AuditRule, _ refused: ErrorKind?, _ storage: isolated Storage) {
        let eachRead = storage.secrets.takeAuditsEachRead()
        // Who is refused waits for nothing: else anybody could have the disk synced.
        let isStrict = refused == nil && (rule.isStrict || eachRead)
        func text(_ position: Int?) -> Bytes {
            position.map { reader.has($0) ? reader.string($0) : Bytes() } ?? Bytes()
        }
        var name = SecretName(service: text(rule.service), account: text(rule.account), group: text(rule.group))
        if !auditedName.isEmpty {
            name = SecretName(
                service: auditedName.bytes(0..<auditedParts.0),
                account: auditedName.bytes(auditedParts.0..<auditedParts.1),
                group: auditedName.bytes(auditedParts.1..<auditedName.count))
        }
        let role = connection?.admission.role ?? ""
        role.withBytes { role in
            (connection?.clientName ?? []).withBytes { client in
                storage.secrets.note(
                    AuditEvent(
                        method: reader.methodName, outcome: refused.map { Bytes($0.facts.name) } ?? Bytes(),
                        user: connection?.peer?.uid ?? .max, role: role, client: client, name: name, rev: shownRev),
                    isStrict: isStrict, isChange: rule.isStrict && refused == nil)
            }
        }
        if isStrict { isAudited = true }
    }

    /// The request is about a secret that its parameters do not name.
    func audits(_ name: SecretName) {
        auditedName.removeAll()
        auditedName.append(name.service)
        auditedName.append(name.account)
        auditedName.append(name.group)
        auditedParts = (name.service.count, name.service.count + name.account.count)
    }
}
