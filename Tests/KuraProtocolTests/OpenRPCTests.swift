import Foundation
import KuraProtocol
import Testing

@Suite struct OpenRPCTests {
    private static let document = OpenRPC.document(version: "1.2.3")

    private func object() throws -> [String: Any] {
        try #require(try JSONSerialization.jsonObject(with: Data(Self.document)) as? [String: Any])
    }

    @Test func `the document is JSON of the wire's grammar, the same each time, and ends in one newline`() {
        #expect(fault(in: Self.document) == nil)
        #expect(OpenRPC.document(version: "1.2.3") == Self.document)
        #expect(Self.document.last == 0x0A && Self.document.dropLast().last == UInt8(ascii: "}"))
    }

    @Test func `the one-line document is the same document`() {
        let compact = OpenRPC.compactDocument(version: "1.2.3")
        #expect(compact == compacted(Self.document) && !compact.contains(0x0A))
    }

    @Test func `it has every method of the table with all its parameters and results`() throws {
        let methods = try #require(try object()["methods"] as? [[String: Any]])
        #expect(methods.map { $0["name"] as? String } == Method.all.map(\.name))
        for (shown, method) in zip(methods, Method.all) {
            let parameters = try #require(shown["params"] as? [[String: Any]])
            #expect(parameters.map { $0["name"] as? String } == method.parameters.map(\.name))
            #expect(parameters.map { $0["required"] as? Bool } == method.parameters.map(\.isRequired))
            let schema = try #require((shown["result"] as? [String: Any])?["schema"] as? [String: Any])
            #expect(Set(try #require(schema["properties"] as? [String: Any]).keys) == Set(method.result.map(\.name)))
            #expect(schema["required"] as? [String] == method.result.filter(\.isRequired).map(\.name))
            #expect(schema["additionalProperties"] as? Bool == false)
            #expect(shown["x-access"] as? String == method.access.rawValue)
            #expect((shown["x-outOfBand"] as? Bool ?? false) == method.isOutOfBand)
            let errors = (shown["errors"] as? [[String: String]] ?? []).compactMap { $0["$ref"] }
            #expect(errors == method.errors.map { "#/components/errors/\($0)" })
        }
    }

    @Test func `it has every kind of error with its facts`() throws {
        let components = try #require(try object()["components"] as? [String: [String: [String: Any]]])
        for kind in ErrorKind.allCases {
            let error = try #require(components["errors"]?["\(kind)"])
            #expect(error["code"] as? Int == kind.facts.code && error["message"] as? String == "\(kind.facts.message)")
            #expect((error["data"] as? [String: Any])?["kind"] as? String == "\(kind)")
            let facts = try #require(components["x-errors"]?["\(kind)"])
            #expect(
                facts["when"] as? String == "\(kind.facts.when)" && facts["remedy"] as? String == "\(kind.facts.remedy)"
            )
            #expect(facts["retryable"] as? Bool == kind.facts.retryable)
        }
        #expect(
            components["errors"]?.count == ErrorKind.allCases.count
                && components["x-errors"]?.count == ErrorKind.allCases.count)
    }

    @Test func `every type has its schema`() throws {
        let table = MethodTable([
            Method(
                "a.b", .rpc, .read, needs: .nothing, "S.",
                parameters: [
                    Field("name", .name(maxBytes: 5), required: true, "N."), Field("text", .text(maxBytes: 6), "T."),
                    Field("json", .json, "J."),
                    Field("integer", .integer(-1...2), "I."), Field("boolean", .boolean, "B."),
                    Field("map", .map(of: .boolean), "M."),
                    Field("list", .list(of: .integer(0...1), maxItems: 3), "L."),
                    Field("object", .object([Field("x", .json, required: true, "X.")]), "O."),
                    Field("word", .word(["on", "off"]), "W."),
                ], result: [Field("at", .timestamp, "A.")], example: #"{"name":"n"}"#)
        ])
        let document =
            try JSONSerialization.jsonObject(with: Data(OpenRPC.document(table, version: "0"))) as? [String: Any]
        let method = try #require((document?["methods"] as? [[String: Any]])?.first)
        let parameters = try #require(method["params"] as? [[String: Any]])
        let schemas = try parameters.map { parameter in
            String(
                decoding: try JSONSerialization.data(withJSONObject: parameter["schema"] as Any, options: .sortedKeys),
                as: UTF8.self)
        }
        #expect(
            schemas == [
                #"{"maxLength":5,"minLength":1,"pattern":"^[^\\u0000-\\u001f\\u007f-\\u009f]*$","type":"string","x-maxBytes":5}"#,
                #"{"maxLength":6,"type":"string","x-maxBytes":6}"#, "{}",
                #"{"maximum":2,"minimum":-1,"type":"integer"}"#, #"{"type":"boolean"}"#,
                #"{"additionalProperties":{"type":"boolean"},"type":"object"}"#,
                #"{"items":{"maximum":1,"minimum":0,"type":"integer"},"maxItems":3,"type":"array"}"#,
                #"{"additionalProperties":false,"properties":{"x":{"description":"X."}},"required":["x"],"type":"object"}"#,
                #"{"enum":["on","off"],"type":"string"}"#,
            ])
    }

    // MARK: OpenRPC's own schema

    private static let checker =
        #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(3).joined(separator: "/")
        + "/scripts/check-openrpc"

    /// Runs the checker; its exit code and what it printed.
    private static func check(_ document: [UInt8]) throws -> (code: Int32, output: String) {
        let file = FileManager.default.temporaryDirectory.appending(path: "openrpc-\(UUID().uuidString).json")
        try Data(document).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["python3", checker, file.path, "\(Suites.directory)/openrpc/schema.json"]
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardError = pipe
        try process.run()
        let output = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return (process.terminationStatus, String(decoding: output, as: UTF8.self))
    }

    private static let canCheck: Bool = {
        guard Suites.has("openrpc") else { return false }
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["python3", "-c", "import jsonschema, jsonschema_specifications, referencing"]
        process.standardError = FileHandle.nullDevice
        guard (try? process.run()) != nil else { return false }
        process.waitUntilExit()
        return process.terminationStatus == 0
    }()

    @Test(.enabled(if: canCheck, "needs python3 with jsonschema from PyPI, and the openrpc suite: set KURA_SUITES"))
    func
        `it satisfies OpenRPC's schema, its references resolve, its schemas are draft-07 and its examples satisfy them`()
        throws
    {
        let (code, output) = try Self.check(Self.document)
        #expect(code == 0 && output == "\(Method.all.count) methods\n", "\(output)")
    }

    @Test(
        .enabled(if: canCheck, "needs python3 with jsonschema from PyPI, and the openrpc suite: set KURA_SUITES"),
        arguments: [
            ("\"openrpc\": \"1.3.2\"", "\"openrpc\": \"2.0.0\""),
            ("\"paramStructure\": \"either\"", "\"paramStructure\": \"any\""),
            ("#/components/errors/conflict", "#/components/errors/absent"),
            ("\"type\": \"integer\"", "\"type\": \"whole\""),
            ("\"maxLength\": 512", "\"maxLenght\": 512"), ("\"x-access\": \"read\"", "\"access\": \"read\""),
            ("\"value\": \"JP\"", "\"value\": 81"), ("\"title\": \"Kura\"", "\"name\": \"Kura\""),
            ("\"name\": \"key\"", "\"name\": \"kee\""),
        ])
    func `a document that is wrong in one place is refused`(_ right: String, _ wrong: String) throws {
        let text = String(decoding: Self.document, as: UTF8.self)
        let place = try #require(text.range(of: right), "\(right)")
        let (code, output) = try Self.check(Array(text.replacingCharacters(in: place, with: wrong).utf8))
        #expect(code == 1 && !output.isEmpty, "\(output)")
    }
}
