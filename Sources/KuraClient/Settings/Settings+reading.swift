import KuraBytes
import KuraProtocol

/// `settings.get` without anything in between: the most frequent call of all.
extension DomainSettings {
    func read<Value: Decodable>(_ name: String, _ type: Value.Type, _ options: CallOptions) async throws(KuraError) -> (
        Value?, Int64
    ) {
        let link = kura.link
        let call = link.take()
        call.request.append(",\"method\":\"settings.get\",\"params\":{\"domain\":")
        call.request.append(string: domain)
        call.request.append(",\"key\":")
        call.request.append(string: name)
        call.request.append("}}\n")
        try await kura.perform(call, Self.getting, timeout: kura.timeout(options))
        defer { link.release(call) }
        do throws(KuraError) { return try Self.found(type, call.reply.bytes, call.names) } catch {
            throw KuraError(error.kind, "\(domain)/\(name): \(error.message)", method: "settings.get")
        }
    }

    private static let getting = Kura.Manner(
        method: "settings.get", rule: MethodRule.of("settings.get"), key: nil, isSafe: true)

    /// The value and the revision of a reply.
    private static func found<Value: Decodable>(
        _ type: Value.Type, _ reply: Bytes, _ names: NameStack
    ) throws(KuraError) -> (Value?, Int64) {
        var value: Bytes?
        var rev: Int64 = 0
        var reader = JSONReader(reply, grammar: .rfc8259, names: names)
        do throws(JSONFault) {
            try reader.expect(UInt8(ascii: "{"))
            if !reader.take(UInt8(ascii: "}")) {
                repeat {
                    let name = try reader.name()
                    let place = try reader.value()
                    let text = reply.extracting(Int(place.start)..<Int(place.end))
                    let label = reply.extracting(Int(name.start)..<Int(name.end))
                    if label.equals("value") {
                        value = text
                    } else if label.equals("rev") {
                        rev = JSONNumber.integer(text) ?? 0
                    }
                } while reader.take(UInt8(ascii: ","))
            }
        } catch {
            throw KuraError(.badReply, "the reply is not JSON: \(error.explanation)")
        }
        guard let value else { return (nil, rev) }
        return (try WireDecoder().decode(type, from: value), rev)
    }
}
