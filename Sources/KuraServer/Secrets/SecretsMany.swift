import KuraBytes
import KuraProtocol
import KuraStorage

/// Answers `secrets.getMany`: several secrets of one service, some of them a turn.
extension SecretsHandlers {
    static func getMany(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        let recipient = try call.recipient(SecretsGetMany.sealTo)
        try call.checkInstallation(storage)
        defer { call.memory.wipePlaintext() }
        var reply = GatheredReply(call, storage)
        // Those that are missing, so far.
        var missing = ByteBuffer()
        missing.wipes = true
        missing.append(reply.state.aside)
        if reply.isNew {
            out.openObject()
            out.openList(.secrets)
            reply.opened(out.count, call)
        }
        try call.forEachName(of: SecretsGetMany.accounts, limit: WireLimits.getManyItems, after: reply.state.done) {
            (account) throws(Refusal) in
            try reply.checkTime(out.count, aside: missing, call)
            let name = SecretName(
                service: call[SecretsGetMany.service], account: account, group: call[SecretsGetMany.accessGroup])
            let found: FoundSecret?
            do throws(Refusal) { found = try read(name, &reply, &out, call, storage) } catch {
                if error.keepsGathered { reply.keepIfMuch(out.count, aside: missing, call) }
                throw error
            }
            reply.advance(call.memory.plaintext.count)
            guard let found else {
                missing.append(element: account)
                return
            }
            try reply.checkRoom(for: call.memory.plaintext.count, out.count, call)
            out.wipes = true
            out.openObject()
            reply.addedFirst()
            out.append(.account, account)
            try SecretsHandlers.append(
                found, name, sealedTo: recipient, parameter: SecretsGetMany.sealTo, call, &out, storage)
            out.append(rest: found)
        }
        out.closeList()
        out.openList(.missing)
        out.append(missing.bytes)
        out.closeList()
        out.append(.rev, reply.state.rev)
        out.closeObject()
        call.shows(reply.state.rev)
    }

    /// Leaves a secret in the call's `plaintext`, rendered.
    /// - Returns: nil when it is absent, or its value was destroyed.
    private static func read(
        _ name: SecretName, _ reply: inout GatheredReply, _ out: inout ByteBuffer, _ call: Call,
        _ storage: isolated Storage
    ) throws(Refusal) -> FoundSecret? {
        var found: FoundSecret?
        call.memory.plaintext.removeAll()
        var shown: UInt64 = 0
        do throws(SecretsError) {
            shown = try storage.secrets.get(name, version: nil) { secret, value in
                found = secret
                _ = call.render(secret.kind, value, field: nil)
            }
        } catch {
            guard case .noSuchVersion(let shownRev) = error else { throw Refusal(error, call: call) }
            shown = shownRev
        }
        try reply.checkMoment(shown, &out, call, storage)
        call.shows(shown)
        return found
    }
}
