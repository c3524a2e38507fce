import KuraBytes
import KuraStorage
import Testing

@testable import KuraServer

private func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

private func table(_ values: [String: String]) -> LayerTable {
    LayerTable(values.map { LayerTable.Item(key: bytes($0.key), value: bytes($0.value)) })
}

@Suite struct LayerTableTests {
    @Test func `values are found by key, in the order of bytes`() {
        let keys = ["b", "a", "aa", "", "é", "Z", "a b"]
        let found = table(Dictionary(uniqueKeysWithValues: keys.map { ($0, "v\($0)") }))
        let sorted = keys.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        #expect((0..<found.count).map { String(decoding: found.key($0), as: UTF8.self) } == sorted)
        for key in keys {
            bytes(key).withBytes { key in
                #expect(
                    found[key].map { String(decoding: $0, as: UTF8.self) } == "v" + String(decoding: key, as: UTF8.self)
                )
            }
        }
        bytes("c").withBytes { #expect(found[$0] == nil) }
        bytes("c").withBytes { #expect(LayerTable([])[$0] == nil) }
    }
}

@Suite struct LayerViewTests {
    /// The layers that can have a value of their own, highest first.
    private static let layers: [Layer] = [.locked, .session, .app, .registered, .schema]

    private func view(_ present: [Layer]) throws -> LayerView {
        func layer(_ layer: Layer) -> LayerTable? { present.contains(layer) ? table(["k": "\"\(layer)\""]) : nil }
        let schema = present.contains(.schema) ? "{\"properties\":{\"k\":{\"default\":\"schema\"}}}" : "{}"
        let rules = try bytes(schema).withBytes { try DomainRules($0, mode: .off) }
        return LayerView(
            domain: DomainLayers(locked: layer(.locked), registered: layer(.registered), rules: rules),
            session: layer(.session))
    }

    @Test(arguments: 0..<32) func `the highest layer that has a value wins, the others are hidden in their order`(
        mask: Int
    ) throws {
        let present = Self.layers.enumerated().filter { mask & 1 << $0.offset != 0 }.map(\.element)
        let view = try view(present)
        let app = bytes("\"app\"")
        try bytes("k").withBytes { key in
            try app.withBytes { app in
                let own = present.contains(.app) ? app : nil
                #expect(view.winner(key, app: own)?.layer == present.first)
                #expect(
                    view.winner(key, app: own).map { String(decoding: $0.value, as: UTF8.self) }
                        == present.first.map { "\"\($0)\"" })
                var all: [Layer] = []
                view.forEach(key, app: own) { all.append($0.layer) }
                #expect(all == present)
                // The walk over all keys says the same.
                var merge = LayerMerge(view, prefix: Bytes(start: nil, count: 0), after: nil)
                if present.contains(where: { $0 != .app }) {
                    let next = try #require(merge.key)
                    #expect(merge.take(next, app: own)?.layer == present.first)
                }
                #expect(merge.key == nil)
            }
        }
    }

    @Test func `the merge gives every key once, in order, from a prefix and behind a cursor`() throws {
        let schema = "{\"properties\":{\"c\":{\"default\":1},\"pa\":{\"default\":1},\"named\":{}}}"
        let rules = try bytes(schema).withBytes { try DomainRules($0, mode: .off) }
        let view = LayerView(
            domain: DomainLayers(
                locked: table(["b": "1", "pb": "1"]), registered: table(["a": "1", "b": "2", "pc": "3"]), rules: rules),
            session: table(["a": "0", "d": "4"]))
        func keys(_ prefix: String, _ after: String?, names: LayerTable? = nil) -> [String] {
            bytes(prefix).withBytes { prefix in
                var merge = LayerMerge(view, prefix: prefix, after: after.map(bytes), names: names)
                var keys: [String] = []
                while let key = merge.key {
                    keys.append(String(decoding: key, as: UTF8.self))
                    _ = merge.take(key, app: nil)
                }
                return keys
            }
        }
        #expect(keys("", nil) == ["a", "b", "c", "d", "pa", "pb", "pc"])
        #expect(keys("", "b") == ["c", "d", "pa", "pb", "pc"])
        #expect(keys("p", nil) == ["pa", "pb", "pc"])
        #expect(keys("p", "pa") == ["pb", "pc"])
        #expect(keys("p", "pbb") == ["pc"])
        #expect(keys("q", nil) == [])
        #expect(keys("", nil, names: rules.names) == ["a", "b", "c", "d", "named", "pa", "pb", "pc"])
    }
}

@Suite struct SettingsLocksTests {
    private func locks(_ text: String) throws(Configuration.Refusal) -> SettingsLocks {
        try SettingsLocks(text: bytes(text))
    }

    @Test func `locks have values and reasons, by domain and key`() throws {
        let locks = try locks("{\"app\": {\"k\": {\"value\": [1, 2], \"reason\": \"a \\\"good\\\" one\"}}, \"e\": {}}")
        #expect(locks.count == 1)
        try bytes("app").withBytes { domain in
            let table = try #require(locks[domain])
            #expect(String(decoding: table.value(0), as: UTF8.self) == "[1,2]")
            #expect(String(decoding: table.reason(0), as: UTF8.self) == "a \"good\" one")
        }
    }

    @Test(arguments: [
        "", "[]", "{", "{\"a\":1}", "{\"a\":{\"k\":1}}", "{\"a\":{\"k\":{\"value\":1}}}",
        "{\"a\":{\"k\":{\"reason\":\"r\"}}}", "{\"a\":{\"k\":{\"value\":1,\"reason\":\"\"}}}",
        "{\"a\":{\"k\":{\"value\":1,\"reason\":7}}}", "{\"a\":{\"k\":{\"value\":1,\"reason\":\"r\",\"more\":1}}}",
        "{\"\":{\"k\":{\"value\":1,\"reason\":\"r\"}}}", "{\"a\":{\"\":{\"value\":1,\"reason\":\"r\"}}}",
        "{\"a\":{},\"a\":{}}", "{\"a\":{\"k\":{\"value\":1,\"reason\":\"r\"}}} {}",
    ])
    func `what is no file of locks is refused`(text: String) {
        #expect(throws: Configuration.Refusal.self) { try locks(text) }
    }
}
