import Glibc
import JSONSchema
import KuraBytes
import KuraProtocol
import Testing

/// Verdicts beside those of python3's `jsonschema` (Draft7Validator), over schemas and values made by `scripts/schema-oracle`.
///
/// `KURA_ORACLE_PAIRS` is how many, `KURA_ORACLE_SEED` with which choices.
@Suite struct OracleTests {
    private static let script = "\(#filePath)".replacing(
        "Tests/JSONSchemaTests/OracleTests.swift", with: "scripts/schema-oracle")
    private static var isThere: Bool { system("python3 -c 'import jsonschema' 2>/dev/null") == 0 }

    @Test(.enabled(if: isThere, "python3 has no jsonschema (scripts/bootstrap test)"))
    func `random values get the verdicts of another implementation`() throws {
        let wanted = getenv("KURA_ORACLE_PAIRS").flatMap { Int(String(cString: $0)) } ?? 6000
        let seed = getenv("KURA_ORACLE_SEED").map { String(cString: $0) } ?? "7"
        let pipe = try #require(popen("python3 '\(Self.script)' \(wanted) \(seed)", "r"))
        defer { pclose(pipe) }
        var line: UnsafeMutablePointer<CChar>?
        var capacity = 0
        defer { free(line) }
        var pairs = 0
        var valid = 0
        while true {
            let length = getline(&line, &capacity, pipe)
            guard length > 0, let line else { break }
            let text = Bytes(start: line, count: length)
            var walk = JSONWalk(Bytes(rebasing: text.dropLast()), storage: WalkStorage())
            guard let schemaText = walk.nextElement(), let value = walk.nextElement(), let verdict = walk.nextElement()
            else {
                Issue.record("\(Self.script) printed no triple")
                break
            }
            let schema = try JSONSchema.compile(schemaText)
            let violation = schema.validate(value)
            let isValid = verdict.first == UInt8(ascii: "t")
            pairs += 1
            if isValid { valid += 1 }
            #expect(
                (violation == nil) == isValid && violation?.cause != .tooComplex,
                "\(String(decoding: text, as: UTF8.self)) \(violation.map { "\($0)" } ?? "valid")")
        }
        #expect(pairs == wanted)
        // Neither verdict may be rare, or little is compared.
        #expect(valid > wanted / 5 && valid < wanted * 4 / 5, "\(valid) of \(wanted) are valid")
        print("schema oracle: \(pairs) pairs with equal verdicts, \(valid) of them valid, seed \(seed)")
    }
}
