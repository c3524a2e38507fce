import Glibc
import KuraProtocol
import KuraTestSupport
import Testing

@Suite struct MethodDocsTests {
    private static let folder =
        #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(3).joined(separator: "/")
        + "/proto-docs"

    private static func page(_ name: String) -> String? {
        guard let stream = fopen("\(folder)/\(name)", "r") else { return nil }
        defer { fclose(stream) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while case let count = fread(&chunk, 1, chunk.count, stream), count > 0 { bytes += chunk[..<count] }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Where each store's table stands.
    private static let pages = (FileTree.names(folder) ?? []).filter { name in
        name.hasSuffix(".md") && page(name)?.contains("<!-- methods:") == true
    }

    @Test(arguments: pages)
    func `the tables of a page are those that the method table gives now`(_ name: String) throws {
        let page = try #require(Self.page(name), "\(name) is missing")
        let fresh = try #require(MethodDocs.refresh(page: page), "\(name) has a marker that is unknown or not closed")
        #expect(fresh == page, "\(name) is stale: scripts/docs writes it anew")
    }

    @Test func `every store and the errors stand on a page, once`() throws {
        let text = try Self.pages.map { try #require(Self.page($0), "\($0) is missing") }.joined()
        for name in Method.Store.allCases.map(\.rawValue) + ["errors"] {
            #expect(
                text.split(separator: "<!-- methods:\(name) -->", omittingEmptySubsequences: false).count == 2,
                "\(name)")
        }
    }

    @Test func `openrpc.json is what the daemon prints, but for its version`() throws {
        let printed = try #require(Self.page("openrpc.json"), "openrpc.json is missing")
        let version = try #require(
            printed.split(separator: "\"version\": \"").dropFirst().first?.split(separator: "\"").first)
        // Compared beforehand: a failure would print both, byte for byte.
        let isFresh = Array(printed.utf8) == OpenRPC.document(version: String(version))
        #expect(
            isFresh,
            "openrpc.json is stale: scripts/docs writes it anew")
    }

    @Test func `every method has an example that is replayed`() throws {
        let others = [
            "secrets-items.md", "secrets-use.md", "secrets-audit.md", "collections.md", "history.md", "queries.md",
            "search.md",
            "protocol.md",
        ]
        let transcripts = try (Self.pages + others).map { name in
            try #require(Self.page(name), "\(name) is missing").split(separator: "```transcript").dropFirst()
                .compactMap { $0.split(separator: "```").first }.joined(separator: "\n")
        }.joined(separator: "\n")
        let requests = transcripts.split(separator: "\n").filter { $0.hasPrefix("->") }
        for method in Method.all {
            #expect(requests.contains { $0.contains("\"method\":\"\(method.name)\"") }, "\(method.name)")
        }
    }

    // MARK: Rendering

    @Test func `a page keeps its prose and gets new tables`() throws {
        let page =
            "# Title\n\nProse.\n<!-- methods:rpc -->\nold\n<!-- /methods -->\nMore.\n<!-- methods:errors -->\n<!-- /methods -->\nEnd\n"
        let fresh = try #require(MethodDocs.refresh(page: page))
        #expect(fresh.hasPrefix("# Title\n\nProse.\n<!-- methods:rpc -->\n\n| method"))
        #expect(
            fresh.hasSuffix("\n\n<!-- /methods -->\nEnd\n")
                && fresh.contains("\n\n<!-- /methods -->\nMore.\n<!-- methods:errors -->\n\n"))
        #expect(!fresh.contains("old\n") && fresh.contains("### rpc.discover") && fresh.contains("### conflict"))
        #expect(MethodDocs.refresh(page: fresh) == fresh)
        #expect(MethodDocs.refresh(page: "no markers\n") == "no markers\n")
        for wrong in ["<!-- methods:nothing -->\n<!-- /methods -->", "<!-- methods:rpc -->\n"] {
            #expect(MethodDocs.refresh(page: wrong) == nil)
        }
    }

    @Test func `a method's tables tell names, types with their limits, presence and errors`() {
        let table = MethodTable([
            Method(
                "settings.put", .settings, .write,
                needs: .scope([.read, .create], "name", also: [.init(.delete, with: "word", word: "on")]),
                "Puts.",
                parameters: [
                    Field("name", .name(maxBytes: 1500), required: true, "N."),
                    Field("word", .word(["on", "off"]), "W."),
                    Field(
                        "list", .list(of: .object([Field("x", .json, required: true, "X.")]), maxItems: 10_000),
                        required: true, "L."),
                    Field("n", .integer(-WireLimits.safeInteger...5), "I."),
                ],
                result: [Field("at", .timestamp, required: true, "A."), Field("map", .map(of: .boolean), "M.")],
                errors: [.conflict, .noSpace])
        ])
        let expected = """
            | method | access | |
            |---|---|---|
            | [`settings.put`](#settingsput) | write | Puts. |

            ### settings.put

            Puts. Access: write. Needs: `read` and `create` on `name`; with `word` `on` also `delete`.

            | parameter | type | | |
            |---|---|---|---|
            | `name` | name of 1 to 1,500 bytes | required | N. |
            | `word` | `on`, `off` |  | W. |
            | `list` | array of at most 10,000, each: object | required | L. |
            | `list[].x` | any JSON | required | X. |
            | `n` | integer, −(2^53 − 1) to 5 |  | I. |
            | `requestKey` | name of 1 to 128 bytes |  | Names this write: sent again within a day, it is answered with the first result and not done twice. |

            | result | type | | |
            |---|---|---|---|
            | `at` | time | always | A. |
            | `map` | object, each value: true or false |  | M. |

            Errors: [`conflict`](errors.md#conflict), [`noSpace`](errors.md#nospace), [`requestKeyReused`](errors.md#requestkeyreused).
            """
        #expect(MethodDocs.render(store: .settings, table) == expected)
        #expect(MethodDocs.render(named: "settings") == MethodDocs.render(store: .settings))
        #expect(MethodDocs.render(named: "nothing") == nil)
    }

    @Test func `the errors have every kind with its facts`() {
        let text = MethodDocs.errors()
        for kind in ErrorKind.allCases {
            let facts = kind.facts
            #expect(
                text.contains(
                    "\n### \(kind)\n\nCode \(facts.code), \"\(facts.message)\". Retryable: \(facts.retryable ? "yes" : "no").\n"
                ))
            #expect(text.contains("\nWhen: \(facts.when)\n") && text.contains("What to do: \(facts.remedy)"))
        }
    }
}
