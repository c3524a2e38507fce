import Glibc
import KuraBytes
import KuraProtocol
import KuraStorage
import KuraTransport
import SQLite

/// A client says who it is, and asks what it may do.
extension SessionHandlers {
    /// Capabilities that `enable` accepts.
    private static let capabilities = ["outOfOrder"]

    static func hello(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        if call.has(SessionHello.protocol), call[SessionHello.protocol] != Int64(WireLimits.protocolVersion) {
            var error = RPCError(.protocolMismatch, parameter: call.name(SessionHello.protocol))
            error.protocolVersion = WireLimits.protocolVersion
            throw .error(error)
        }
        guard call.has(SessionHello.client) || !call.has(SessionHello.version) && !call[SessionHello.launch] else {
            throw .error(
                RPCError(
                    .invalidParams, hint: "version and launch say something of client",
                    parameter: call.name(SessionHello.client))
            )
        }
        if call.has(SessionHello.enable) {
            var walk = JSONWalk(call[SessionHello.enable], storage: call.memory.walk)
            var index = 0
            while let element = walk.nextElement() {
                let name = JSONWalk.string(element, storage: call.memory.innerWalk).map {
                    String(decoding: $0, as: UTF8.self)
                }
                guard let name, capabilities.contains(name) else {
                    throw .error(
                        RPCError(
                            .invalidParams, hint: "not among the capabilities that this daemon offers",
                            parameter: call.name(SessionHello.enable), index: index))
                }
                index += 1
            }
            if index > 0 { call.connection?.state.lines.isUnordered = true }
        }
        if call.has(SessionHello.client) { introduce(call, storage) }
        if call.has(SessionHello.installation) {
            call.connection?.client.installation = Array(call[SessionHello.installation])
        }
        out.openObject()
        out.append(.server, word: "kurad")
        out.append(.version, call.server.description.version)
        out.append(.protocol, WireLimits.protocolVersion)
        out.append(.role, call.connection?.client.admission.role ?? AccessRules.admin)
        out.append(grants: call.connection?.permissions)
        out.append(.epoch, storage.start.epoch)
        out.openList(.capabilities)
        for name in capabilities { out.append(element: name) }
        out.closeList()
        StorageHandlers.append(limits: call.server.limits, to: &out)
        out.closeObject()
    }

    /// Notes who is there. The name stands in the log beside what it writes, with the version behind a slash.
    private static func introduce(_ call: Call, _ storage: isolated Storage) {
        var name = Array(call[SessionHello.client])
        if call[SessionHello.launch] {
            call.server.traffic.launched()
            storage.launched(name)
        }
        if call.has(SessionHello.version) {
            name.append(UInt8(ascii: "/"))
            name.append(contentsOf: call[SessionHello.version])
        }
        call.connection?.client.introduce(as: name)
    }

    static func can(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        let reader = call.operation.reader
        out.openObject()
        do throws(RPCError) {
            let params = call.has(SessionCan.params) ? call[SessionCan.params] : nil
            try reader.readCall(method: call[SessionCan.method], params: params)
            if let permissions = call.connection?.permissions {
                let rule = call.server.methods.access(reader.methodIndex)
                let missing =
                    params == nil
                    ? rule.missingAnywhere(permissions)
                    : rule.missing(reader, permissions, call.memory.walk, call.memory.innerWalk)
                if let missing { throw .forbidden(missing) }
            }
            out.append(.allowed, true)
        } catch {
            out.append(.allowed, false)
            out.append(.reason, word: error.kind.facts.name)
            if let hint = error.hint { out.append(.hint, word: hint) }
            if let grant = error.grant { out.append(grant) }
        }
        out.closeObject()
    }
}

extension RpcHandlers {
    static func discover(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        call.server.description.openRPC.withBytes { out.append($0) }
    }
}

extension StorageHandlers {
    static func ping(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        out.openObject()
        out.append(.pong, true)
        out.closeObject()
    }

    static func health(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        let reasons: [(isSo: Bool, name: StaticString)] = [
            (call.server.present().isDraining, "draining"), (storage.isOutOfSpace, "diskFull"),
            (!storage.admitsChanges, "overloaded"),
        ]
        out.openObject()
        out.append(.live, true)
        out.append(.ready, !reasons.contains { $0.isSo })
        out.openList(.reasons)
        for reason in reasons where reason.isSo { out.append(element: Bytes(reason.name)) }
        out.closeList()
        out.closeObject()
    }
}
