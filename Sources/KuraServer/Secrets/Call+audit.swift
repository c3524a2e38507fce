import KuraBytes
import KuraProtocol
import KuraStorage
import KuraTransport

/// What of a request goes into the audit of secrets, made ready from the method table.
struct AuditRule {
    /// A change, an operation with keys, or a token: its reply waits until it is in the audit.
    let isStrict: Bool
    /// It is not done when the audit cannot take it: all but what locks, looks into the audit, or mends it.
    let isKept: Bool
    /// Positions of what it is about; nil where the method has none.
    let service: Int?
    let account: Int?
    let group: Int?
    /// Of several: a list of accounts.
    let accounts: Int?

    /// nil for what is not in the audit, or told to it by the handler.
    init?(_ method: Method) {
        guard method.audit == .told || method.audit == .required else { return nil }
        isStrict = method.access == .write
        isKept = method.audit == .required
        func position(_ name: String) -> Int? { method.parameters.firstIndex { $0.name == name } }
        (service, account, group) = (position("service"), position("account"), position("accessGroup"))
        accounts = position("accounts")
    }
}

extension AuditRule {
    /// A backup with secrets in it, which its handler tells from others: it hands out all of them at once.
    static let backup = AuditRule()

    private init() {
        (isStrict, isKept) = (true, true)
        (service, account, group, accounts) = (nil, nil, nil, nil)
    }

    /// Whether a method of the audit can have been refused with this kind of error.
    static func judge(_ method: Bytes, _ kind: Bytes) -> Bool {
        names.contains(Array(method)) && kinds.contains(Array(kind))
    }

    private static let names = Set(
        MethodTable.standard.methods.filter { $0.audit != .nothing }.map { Array($0.name.utf8) })
    private static let kinds = Set(ErrorKind.allCases.map { Array(Bytes($0.facts.name)) })
}

/// The one place where the audit is written from.
extension Call {
    /// Performs what the audit is to know of.
    func perform(_ rule: AuditRule, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        _ = storage.secrets.audit.takeAuditsEachRead()
        let hasEffect = begun?.progress.hasEffect == true
        if rule.isKept {
            if hasEffect { try awaitAudit(storage) } else { try refuseUnlessAudited(rule.isStrict, storage) }
        }
        do throws(Refusal) { try performAnything(&out, storage) } catch {
            // `authorize` has noted what is forbidden; what cannot be read is about nothing.
            if case .error(let refused) = error, refused.kind != .forbidden, refused.kind != .invalidParams {
                note(rule, refused.kind, storage)
            }
            throw Self.naming(error, storage)
        }
        guard !audit.isNoted else { return }
        if storage.secrets.audit.auditsEachRead, rule.isKept, !hasEffect {
            do throws(Refusal) { try refuseUnlessAudited(true, storage) } catch {
                if case .error(let refused) = error { note(rule, refused.kind, storage) }
                throw error
            }
        }
        note(rule, nil, storage)
    }

    /// The same refusal; where it is the store's record that does not fit, repairing a service does not help, and the hint says so.
    private static func naming(_ refusal: Refusal, _ storage: isolated Storage) -> Refusal {
        guard case .error(var refused) = refusal, refused.kind == .integrity, storage.secrets.isStoreUnfit else {
            return refusal
        }
        refused.hint =
            "the store's record does not fit the services': 'kura secrets verify' tells more, 'kura secrets repair STOREID' accepts what is there (the storeId of 'kura secrets status')"
        return .error(refused)
    }

    /// What cannot be put into the audit is not done, unless the role's policy says otherwise.
    /// - Parameters:
    ///   - isStrict: whether it has to be there before it is answered.
    ///   - storage: of which the audit is.
    /// - Throws: `noSpace` or `integrity`.
    private func refuseUnlessAudited(_ isStrict: Bool, _ storage: isolated Storage) throws(Refusal) {
        let goesWithout = connection?.permissions?.auditFailure == .open
        if isStrict, !goesWithout, storage.secrets.audit.isWithoutRoom {
            throw .error(RPCError(.noSpace, hint: "the audit has no room, and the role's auditFailure is closed"))
        }
        do throws(StoreError) { try storage.secrets.audit.prepare() } catch {
            // Every role waits for a part of the audit that is read in: no change is on the disk before its record.
            let isSetBack = error == .integrity && storage.secrets.audit.binding.areSetBack
            if goesWithout, error != .cold, !isSetBack { return }
            guard error == .integrity else { throw Refusal(error, call: self) }
            if isSetBack {
                throw .error(
                    RPCError(
                        .integrity,
                        hint: "the secrets have been set back or removed: 'kura secrets audit verify' tells more"))
            }
            throw .error(
                RPCError(.integrity, hint: "the audit has been altered, and the role's auditFailure is closed"))
        }
    }

    /// What the audit has to read in before it takes anything: for a request that is not to be begun again later on.
    func awaitAudit(_ storage: isolated Storage) throws(Refusal) {
        do throws(StoreError) { try storage.secrets.audit.prepare() } catch {
            if error == .cold { throw Refusal(error, call: self) }
        }
    }

    /// A backup is to have secrets in it: that is staged as a part of the turn, before the first of them is handed out.
    /// - Throws: `noSpace` or `integrity`, when the audit cannot take it.
    func auditBackup(_ storage: isolated Storage) throws(Refusal) {
        do throws(Refusal) { try refuseUnlessAudited(true, storage) } catch {
            if case .error(let refused) = error { note(.backup, refused.kind, storage) }
            throw error
        }
        note(.backup, nil, storage)
        storage.stageAuditNow()
    }

    /// Notes what the request has come to.
    func note(_ rule: AuditRule, _ refused: ErrorKind?, _ storage: isolated Storage) {
        let eachRead = storage.secrets.audit.takeAuditsEachRead()
        let isStrict =
            if let refused { precedesAnswer(refused, rule, eachRead, storage) } else { rule.isStrict || eachRead }
        func text(_ position: Int?) -> Bytes {
            position.map { reader.has($0) ? reader.string($0) : Bytes() } ?? Bytes()
        }
        var name = audit.secret(
            given: SecretName(service: text(rule.service), account: text(rule.account), group: text(rule.group)))
        if refused == nil, let accounts = rule.accounts {
            // One record for each: who looks for an account finds it.
            var walk = JSONWalk(reader.json(accounts), storage: memory.walk)
            while let account = walk.nextElement().flatMap({ JSONWalk.string($0, storage: memory.innerWalk) }) {
                name.account = account
                note(rule, refused, name, isStrict, storage)
            }
        } else {
            note(rule, refused, name, isStrict, storage)
        }
        if isStrict { audit.awaitsLog() }
    }

    /// The request has done what it asks for, and it is in the audit with that, whatever it still waits for.
    func noteNow(_ storage: isolated Storage) {
        if let rule = server.methods.audit(reader.methodIndex) { note(rule, nil, storage) }
        audit.noted()
    }

    /// Whether a refusal is in the audit, on the disk, before it is answered. So is every refusal but that of a read which would not be there
    /// either, and of more than a user has for a second. Nothing seals it while the secrets are sealed.
    private func precedesAnswer(
        _ refused: ErrorKind, _ rule: AuditRule, _ eachRead: Bool, _ storage: isolated Storage
    ) -> Bool {
        // What is forbidden is so whatever is there: how long it takes must not tell of it.
        guard storage.keys.isUnlocked, refused == .forbidden || rule.isStrict || eachRead else { return false }
        return server.refusals.take(uid, at: clock.monotonic)
    }

    private func note(
        _ rule: AuditRule, _ refused: ErrorKind?, _ name: SecretName, _ isStrict: Bool, _ storage: isolated Storage
    ) {
        let role = connection?.client.admission.role ?? ""
        role.withBytes { role in
            (connection?.client.name ?? []).withBytes { client in
                storage.secrets.audit.note(
                    AuditEvent(
                        method: reader.methodName, outcome: refused.map { Bytes($0.facts.name) } ?? Bytes(),
                        user: uid, role: role, client: client, name: name, rev: shown.rev),
                    isStrict: isStrict, isChange: rule.isStrict && refused == nil)
            }
        }
    }
}
