import KuraBytes
@testable import KuraProtocol
import Testing

/// Lines that the short way reads: it must agree with the general one, or decline. White space in front of a line sends it the general
/// way, so that the two can be held against each other.
@Suite struct PlainLineTests {
    private let reader = RequestReader()

    /// What each way makes of a line: the outcome, and every parameter as a handler would see it.
    private func bothWays(_ line: [UInt8]) -> (plain: [String], general: [String]) {
        func read(_ line: [UInt8]) -> [String] {
            var parts: [String] = []
            let found = reader.read(bytes: line) { reader in
                for position in reader.table.methods[reader.methodIndex].parameters.indices {
                    let integer = reader.integer(position).map(String.init) ?? "-"
                    parts.append(
                        "\(reader.has(position)) \(text(reader.string(position))) \(text(reader.json(position))) \(integer)"
                    )
                    parts.append("\(reader.boolean(position)) \(text(reader.raw(position)))")
                }
                parts.append(reader.requestKey.map(text) ?? "no key")
            }
            return ["\(found)"] + parts
        }
        return (read(line), read([0x20] + line))
    }

    private func text(_ bytes: Bytes) -> String { String(decoding: bytes, as: UTF8.self) }

    private func isPlain(_ line: [UInt8]) -> Bool { GuardedBytes.with(line) { reader.readPlain($0) } }

    @Test(arguments: [
        #"{"jsonrpc":"2.0","id":1,"method":"settings.get","params":{"domain":"app","key":"theme"}}"#,
        #"{"jsonrpc":"2.0","id":"a-b","method":"settings.get","params":{"domain":"app","key":"theme","default":{"a":[1]}}}"#,
        #"{"jsonrpc":"2.0","id":0,"method":"documents.put","params":{"collection":"c","id":"1","value":"text"}}"#,
        #"{"jsonrpc":"2.0","id":123456789012345678,"method":"storage.ping"}"#,
        #"{"jsonrpc":"2.0","id":1,"method":"storage.ping","params":{}}"#,
        #"{"jsonrpc":"2.0","id":1,"method":"settings.put","params":{"domain":"d","key":"k","value":{"é":"\u00e9 \n"},"ifRev":0}}"#,
        #"{"jsonrpc":"2.0","id":1,"method":"settings.list","params":{"domain":"d","limit":10}}"#,
    ]) func `what clients send is read the short way, and the same`(_ line: String) {
        #expect(isPlain(Array(line.utf8)))
        let (plain, general) = bothWays(Array(line.utf8))
        #expect(plain == general)
        #expect(plain[0].contains("error: nil"))
    }

    @Test(arguments: [
        // Members in another order, escapes, white space, other bytes than ASCII, no id, an id of another kind.
        #"{"id":1,"jsonrpc":"2.0","method":"storage.ping"}"#,
        #"{"jsonrpc":"2.0","id":1,"method":"storage.\u0070ing"}"#,
        #"{"jsonrpc":"2.0","id":1,"method":"storage.ping"} "#,
        #"{"jsonrpc":"2.0","id":1,"method":"settings.get","params":{"domain":"é","key":"k"}}"#,
        #"{"jsonrpc":"2.0","id":1,"method":"settings.get","params":{"key":"k","domain":"d"}}"#,
        #"{"jsonrpc":"2.0","method":"storage.ping"}"#,
        #"{"jsonrpc":"2.0","id":null,"method":"storage.ping"}"#,
        #"{"jsonrpc":"2.0","id":-1,"method":"storage.ping"}"#,
        #"{"jsonrpc":"2.0","id":1.5,"method":"storage.ping"}"#,
        #"{"jsonrpc":"2.0","id":1,"method":"storage.ping","params":[]}"#,
        // Faults: a zero in front, a method that is not, a parameter that is not, one that is missing, twice, too long, of another type.
        #"{"jsonrpc":"2.0","id":01,"method":"storage.ping"}"#,
        #"{"jsonrpc":"2.0","id":1,"method":"storage.pin"}"#,
        #"{"jsonrpc":"2.0","id":1,"method":"storage.ping","params":{}}}"#,
        #"{"jsonrpc":"2.0","id":1,"method":"storage.ping","params":{}"#,
        #"{"jsonrpc":"2.0","id":1,"method":"storage.ping"}x"#,
        #"{"jsonrpc":"2.0","id":1,"method":"storage.ping","params":{},"id":1}"#,
        #"{"jsonrpc":"2.0","id":1,"method":"settings.get","params":{"domain":"d","kay":"k"}}"#,
        #"{"jsonrpc":"2.0","id":1,"method":"settings.get","params":{"domain":"d"}}"#,
        #"{"jsonrpc":"2.0","id":1,"method":"settings.get"}"#,
        #"{"jsonrpc":"2.0","id":1,"method":"settings.get","params":{"domain":"d","key":"k",}}"#,
        #"{"jsonrpc":"2.0","id":1,"method":"settings.get","params":{"domain":"d","key":"k","key":"k"}}"#,
        #"{"jsonrpc":"2.0","id":1,"method":"settings.get","params":{"domain":"d","key":""}}"#,
        #"{"jsonrpc":"2.0","id":1,"method":"settings.get","params":{"domain":"d","key":1}}"#,
        #"{"jsonrpc":"2.0","id":1,"method":"settings.put","params":{"domain":"d","key":"k","value":{"a":1,"a":2}}}"#,
        #"{"jsonrpc":"2.0","id":1,"method":"settings.put","params":{"domain":"d","key":"k","value":,"ifRev":1}}"#,
        #"{"jsonrpc":"2.0","id":1,"method":"settings.put","params":{"domain":"d","key":"k","value":1,"ifRev":-1}}"#,
        #"{"jsonrpc":"2.0","id":1,"method":"settings.put","params":{"domain":"d","key":"k","value":1,"ifRev":1e2}}"#,
        #"{"jsonrpc":"2.0","id":1,"method":"settings.put","params":{"domain":"d","key":"k","value": {"a":1}}}"#,
        #"{"jsonrpc":"2.0","id":1,"method":"settings.putMany","params":{"domain":"d","values":[1]}}"#,
        #"{"jsonrpc":"2.0","id":1,"method":"settings.getMany","params":{"domain":"d","keys":{"a":1}}}"#,
        #"{"jsonrpc":"2.0","id":1,"method":"settings.list","params":{"domain":"d","limit":0}}"#,
        // In 64 bits it would be 5.
        #"{"jsonrpc":"2.0","id":1,"method":"settings.list","params":{"domain":"d","limit":18446744073709551621}}"#,
        #"{"jsonrpc":"2.0","id":18446744073709551621,"method":"storage.ping"}"#,
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"settings.get\",\"params\":{\"domain\":\"d\u{7f}\",\"key\":\"k\"}}",
        "{\"jsonrpc\":\"2.0\",\"id\":\"a\u{1}\",\"method\":\"storage.ping\"}",
        #"{"jsonrpc":"2.0","id":"#, "{", "",
    ]) func `anything else goes the general way, and nothing is left of the try`(_ line: String) {
        #expect(!isPlain(Array(line.utf8)))
        let (plain, general) = bothWays(Array(line.utf8))
        // Where a text is at fault is counted from its beginning.
        if !plain[0].contains("parseError") { #expect(plain == general) }
        #expect(reader.read(line: #"{"jsonrpc":"2.0","id":1,"method":"storage.ping"}"#).error == nil)
    }

    @Test func `a glance at what is not plain leaves nothing to be taken for a request`() {
        let whole = #"{"jsonrpc":"2.0","id":7,"method":"settings.get","params":{"domain":"app","key":"theme"}}"#
        #expect(GuardedBytes.with(Array(whole.utf8)) { reader.glance($0) && reader.has(0) && reader.hasID })
        #expect(GuardedBytes.with(Array((whole.dropLast() + " }").utf8)) { !reader.glance($0) })
        #expect(!reader.has(0) && !reader.has(1) && !reader.hasID)
    }

    @Test func `limits of length and depth are the general reader's`() {
        for extra in [-1, 0, 1] {
            let key = String(repeating: "k", count: 512 + extra)
            let deep = String(repeating: "[", count: 126 + extra) + String(repeating: "]", count: 126 + extra)
            for params in ["\"domain\":\"d\",\"key\":\"\(key)\"", "\"domain\":\"d\",\"key\":\"k\",\"default\":\(deep)"]
            {
                let line = Array(#"{"jsonrpc":"2.0","id":1,"method":"settings.get","params":{\#(params)}}"#.utf8)
                let (plain, general) = bothWays(line)
                // A parse error names its offset, which is one more behind a space.
                if !plain[0].contains("parseError") { #expect(plain == general) }
                #expect(general[0].contains("error: nil") == plain[0].contains("error: nil"))
                #expect(isPlain(line) == plain[0].contains("error: nil"))
            }
        }
    }

    @Test func `damaged lines of every method are judged alike`() {
        var generator = JSONGenerator(SeededGenerator())
        let methods = reader.table.methods
        var plainOnes = 0
        for round in 0..<SeededGenerator.rounds(20_000) {
            let method = methods[generator.number(below: methods.count)]
            var line = Array(Self.line(method, &generator).utf8)
            if generator.number(below: 3) == 0 { generator.damage(&line) }
            let (plain, general) = bothWays(line)
            if isPlain(line) { plainOnes += 1 }
            if !plain[0].contains("parseError") || !general[0].contains("parseError") {
                #expect(
                    plain == general,
                    "seed \(generator.random.seed), round \(round): \(String(decoding: line, as: UTF8.self))")
            }
        }
        #expect(plainOnes > SeededGenerator.rounds(20_000) / 10)
    }

    /// A request of the method with some of its parameters, mostly of their types.
    private static func line(_ method: Method, _ generator: inout JSONGenerator) -> String {
        var parts: [String] = []
        for field in method.parameters where field.isRequired || generator.number(below: 3) == 0 {
            let value =
                switch field.type {
                case .name, .text: ["\"plain\"", "\"\"", "\"with \\n\"", "\"ü\"", "1"][generator.number(below: 5)]
                case .word(let words): "\"\(words[generator.number(below: words.count)])\""
                case .integer(let range): "\(generator.number(below: 4) == 0 ? range.upperBound : range.lowerBound)"
                case .boolean: ["true", "false", "null"][generator.number(below: 3)]
                case .json:
                    ["{\"a\":[1,2]}", "\"text\"", "1.5", "null", "\" \\u00e9\"", "[ 1 ]"][generator.number(below: 6)]
                case .map, .object: "{\"a\":1}"
                case .list: "[]"
                case .timestamp: "\"\""
                }
            parts.append("\"\(field.name)\":\(value)")
        }
        if generator.number(below: 8) == 0 { parts.reverse() }
        return
            #"{"jsonrpc":"2.0","id":\#(generator.number(below: 1000)),"method":"\#(method.name)","params":{\#(parts.joined(separator: ","))}}"#
    }
}
