import KuraProtocol
import Testing

/// Broken requests at random: what must hold for every line, whatever it is.
@Suite struct RequestReaderDamageTests {
    private static let lines = [
        #"{"jsonrpc":"2.0","id":1,"method":"settings.put","params":{"domain":"app","key":"theme","value":{"a":[1,2.50],"b":"\u00e9"},"ifRev":0}}"#,
        #"{"jsonrpc":"2.0","id":"x\u0041","method":"documents.put","params":["countries","JP",{"name":"Japan"},3]}"#,
        #"{"params":{"collection":"notes","documents":[{"id":"a","value":1}]},"method":"documents.putMany","jsonrpc":"2.0"}"#,
        #"[{"jsonrpc":"2.0","id":1,"method":"storage.ping"},{"jsonrpc":"2.0","method":"settings.scopes"},7,{"jsonrpc":"2.0","id":2,"method":"x"}]"#,
        #" { "jsonrpc" : "2.0" , "id" : null , "method" : "settings.increment" , "params" : { "domain" : "d", "key" : "k", "by" : -5.0 } } "#,
    ]

    @Test func `a damaged line is a parse error exactly when it is not JSON, and every error reply is JSON`() throws {
        var generator = JSONGenerator(SeededGenerator())
        let reader = RequestReader()
        var kinds: [String: Int] = [:]
        for round in 0..<SeededGenerator.rounds(10_000) {
            var line = Array(Self.lines[generator.number(below: Self.lines.count)].utf8)
            for _ in 0...generator.number(below: 3) { generator.damage(&line) }
            let shown = "seed \(generator.random.seed), round \(round): \(String(decoding: line, as: UTF8.self))"
            let found = reader.read(bytes: line) { reader in
                // What a handler may look at is within the line or the reader's scratch.
                for position in 0..<reader.table.methods[reader.methodIndex].parameters.count where reader.has(position)
                {
                    #expect(fault(in: Array(reader.json(position))) == nil, "\(shown)")
                    _ = Array(reader.string(position))
                }
            }
            let isJSON = fault(in: line) == nil
            #expect((found.kind == .parseError) == !isJSON, "\(found) \(shown)")
            for one in [found] + (found.batch ?? []) {
                #expect(one.error.map { fault(in: $0) == nil } ?? true, "\(one) \(shown)")
                #expect(one.kind != .parseError && one.kind != .invalidRequest || one.hasReply, "\(one) \(shown)")
                #expect(fault(in: one.id) == nil, "\(one) \(shown)")
            }
            kinds[found.kind.map { "\($0)" } ?? (found.batch == nil ? "request" : "batch"), default: 0] += 1
        }
        for kind in ["parseError", "invalidRequest", "methodNotFound", "invalidParams", "request", "batch"] {
            #expect(kinds[kind, default: 0] > 20, "\(kinds)")
        }
    }
}
