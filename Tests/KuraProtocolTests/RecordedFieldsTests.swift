import KuraBytes
import Testing

@testable import KuraProtocol

@Suite struct RecordedFieldsTests {
    private func method(_ name: String) throws -> Method { try #require(Method.all.first { $0.name == name }) }

    private func replaced(_ name: String) throws -> [String] {
        let method = try method(name)
        return method.parameters.filter(method.isReplaced).map(\.name)
    }

    @Test func `every secret parameter is replaced, and everything that a sealed store is given`() throws {
        for method in Method.all {
            for field in method.parameters where field.isSecret || method.store == .secrets {
                #expect(method.isReplaced(field), "\(method.name) \(field.name)")
            }
        }
        #expect(try replaced("storage.backup") == ["passphrase"])
    }

    @Test func `a name that only a sealed store has is replaced where a session tells it, and no other store's is`()
        throws
    {
        #expect(try replaced("session.hello") == ["installation"])
        for name in ["settings.put", "documents.put", "models.put", "blobs.put", "settings.list"] {
            #expect(try replaced(name) == [], "\(name)")
        }
    }

    @Test func `revisions are one kind under all of their names`() {
        for name in ["rev", "ifRev", "afterRev", "currentRev"] {
            #expect(Field(name, .integer(0...9), "").mintedKind == "rev", "\(name)")
        }
        #expect(Field("limit", .integer(0...9), "").mintedKind == nil)
        #expect(Field("ids", .list(of: .key, maxItems: 9), "").mintedKind == "text")
    }

    /// A method that hands out something new would be replayed with what the recorded daemon handed out.
    @Test func `each value of a result that a parameter takes by the same name is minted or comes from clients`() {
        // What clients choose, and the daemon says again.
        let echoed: Set = [
            "accessGroup", "account", "client", "collection", "contentType", "data", "digest", "domain", "etag",
            "field",
            "installation", "key", "label", "length", "maxBytes", "maxEntries", "method", "name", "namespace", "offset",
            "path", "protocol", "scope", "service", "tag", "variant",
        ]
        func leaves(_ fields: [Field]) -> [(String, ValueType)] {
            fields.flatMap { field -> [(String, ValueType)] in
                switch field.type {
                case .object(let inner), .list(of: .object(let inner), _): leaves(inner)
                case .list(let element, _):
                    [(field.name.hasSuffix("s") ? String(field.name.dropLast()) : field.name, element)]
                default: [(field.name, field.type)]
                }
            }
        }
        func kind(_ type: ValueType) -> String? {
            switch type {
            case .name, .text: "text"
            case .integer(let range):
                range.upperBound == WireLimits.safeInteger && range.lowerBound >= 0 ? "number" : nil
            default: nil
            }
        }
        let taken = Set(
            leaves(Method.all.flatMap(\.parameters)).compactMap { name, type in kind(type).map { "\($0) \(name)" } })
        for method in Method.all {
            for (name, type) in leaves(method.result) {
                guard let kind = kind(type), taken.contains("\(kind) \(name)") else { continue }
                let isMinted = Field(name, type, "").mintedKind != nil
                // Numbers of reports and slots are counted from 1 on, in the replay as well.
                #expect(
                    isMinted || echoed.contains(name) || ["version", "id"].contains(name),
                    "\(method.name): is \(name) made up by the daemon?")
            }
        }
    }
}
