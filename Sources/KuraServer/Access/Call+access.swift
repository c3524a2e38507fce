import KuraBytes
import KuraProtocol
import KuraSocket
import KuraStorage

/// The one place where requests are held against grants.
extension Call {
    /// Asked before any handler, and before anything is looked up.
    /// - Throws: `forbidden`.
    func authorize(_ permissions: Permissions, _ storage: isolated Storage) throws(Refusal) {
        let rule = server.methods.access(reader.methodIndex)
        guard let missing = rule.missing(reader, permissions, memory.walk, memory.innerWalk) else { return }
        // The next request's descriptor is another one.
        // One that has waited has taken its own before.
        if let fd = rule.descriptor, reader.boolean(fd), begun?.progress.outcome == nil {
            _ = connection?.descriptors.take()
        }
        if let rule = server.methods.audit(reader.methodIndex) { note(rule, .forbidden, storage) }
        // Nothing of a transaction is begun. The first operation that lacks a grant is what is refused.
        if server.methods.access(reader.methodIndex).asksOperations {
            do throws(Refusal) { try authorizeOperations(permissions, storage) } catch {}
            operation.reader.wipe()
        }
        var refusal = RPCError.forbidden(missing)
        // A deletion in slices whose right has gone meanwhile: what is deleted stays deleted, and was its own to know.
        if let outcome = begun?.progress.outcome, let deleted = outcome.deleted,
            reader.methodIndex == DocumentsDeleteMany.methodIndex
        {
            if let rev = outcome.rev { shows(rev) }
            refusal.deleted = deleted
        }
        throw .error(refusal)
    }

    /// Performs for a connection whose role is not `admin`.
    func perform(
        _ permissions: Permissions, _ out: inout ByteBuffer, _ storage: isolated Storage
    ) throws(Refusal) {
        try authorize(permissions, storage)
        if let versions = connection?.client.declaredVersions { try check(versions, storage) }
        do throws(Refusal) {
            try handle(&out, storage)
        } catch {
            // Who may write there and not read learns that the condition did not hold, and not what is there.
            guard case .error(var shown) = error, shown.kind == .conflict || shown.kind == .uniqueViolation,
                !server.methods.access(reader.methodIndex).mayRead(reader, permissions)
            else { throw error }
            shown.currentRev = nil
            // Safety: as `RPCError.documentID` says.
            unsafe shown.documentID = nil
            throw .error(shown)
        }
    }

    /// Asks for each operation of the transaction that the reader holds; other methods have none. For an answer that is given
    /// without performing them.
    /// - Throws: `forbidden`, or what is wrong with an operation, naming it.
    func authorizeOperations(_ permissions: Permissions, _ storage: isolated Storage) throws(Refusal) {
        guard server.methods.access(reader.methodIndex).asksOperations else { return }
        let inner = operation.reader
        var walk = JSONWalk(self[TransactionApply.operations], storage: memory.walk)
        var index = 0
        while let element = walk.nextElement() {
            do throws(RPCError) {
                try inner.readOperation(element)
                let rule = server.methods.access(inner.methodIndex)
                if let missing = rule.missing(inner, permissions, operation.memory.walk, operation.memory.innerWalk) {
                    noteForbiddenOperation(storage)
                    throw .forbidden(missing)
                }
                if inner.hasSecrets { inner.wipe() }
            } catch { throw Refusal.error(error).at(operation: index) }
            index += 1
        }
    }

    /// The operation that is read was refused for want of a grant: where it is about secrets, that is in the audit.
    private func noteForbiddenOperation(_ storage: isolated Storage) {
        guard let connection, let rule = server.methods.audit(operation.reader.methodIndex) else { return }
        operation.begin(connection, isAhead: attempt.isAhead, replyAt: attempt.replyStart)
        operation.note(rule, .forbidden, storage)
        shows(operation)
    }

    /// Whether the scope may be shown in an answer about all of them.
    func shows(_ verbs: Verbs, _ store: Method.Store, scope: [UInt8]) -> Bool {
        guard let permissions = connection?.permissions else { return true }
        return scope.withBytes { permissions.allows(verbs, store, $0) }
    }

    /// Whether secrets of a service may be shown in an answer about more.
    func shows(_ verbs: Verbs, _ store: Method.Store, service: Bytes, group: AccessGroup) -> Bool {
        guard let permissions = connection?.permissions else { return true }
        return permissions.allows(verbs, store, service, group: group)
    }

    /// Whether the connection may list the secrets of a service, whatever groups they are in.
    func seesEachGroup(of service: Bytes) -> Bool {
        connection?.permissions?.verbs(inEachGroupOf: service).contains(.list) ?? true
    }

    /// Whether the connection may list all secrets there are.
    var seesEverySecret: Bool { seesEachGroup(of: Bytes()) }

    /// Whether the connection has introduced itself as this application, of whatever version.
    func isClient(_ name: [UInt8]) -> Bool {
        guard let known = connection?.client.name, known.starts(with: name) else { return false }
        return known.count == name.count || known[name.count] == UInt8(ascii: "/")
    }

    /// Whether the connection may see what concerns the daemon as a whole.
    var showsDaemon: Bool {
        guard let permissions = connection?.permissions else { return true }
        return !permissions.granted(onWhole: .storage).isDisjoint(with: [.monitor, .admin])
    }

    /// Whether the connection may see who else comes in, and what roles hold.
    var administersDaemon: Bool {
        connection?.permissions?.granted(onWhole: .storage).contains(.admin) ?? true
    }

    /// The role of whoever calls; empty for the daemon itself.
    var role: String { connection?.client.admission.role ?? "" }
}

extension RPCError {
    static func forbidden(_ missing: MissingGrant) -> RPCError {
        var error = RPCError(.forbidden)
        error.grant = missing
        return error
    }

    /// A quota of the connection's role or user.
    static func quotaExceeded(limit: Int, of measure: QuotaAccount.Measure) -> RPCError {
        let hint: StaticString =
            switch measure {
            case .bytes: "bytes that this role or user may fill"
            case .items: "items that this role or user may have"
            case .scopes:
                "domains, collections, services and namespaces that this role or user may have, empty ones included"
            }
        return RPCError(.quotaExceeded, hint: hint, limit: limit)
    }
}
