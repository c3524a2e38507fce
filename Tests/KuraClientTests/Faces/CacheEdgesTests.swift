import CSyscalls
import Glibc
import KuraClient
import Synchronization
import Testing

/// What becomes of rights and uploads that come to nothing.
@Suite struct CacheEdgesTests {
    private static func reply(_ line: String, _ result: String) -> String {
        #"{"jsonrpc":"2.0","id":\#(FakeDaemon.Connection.id(of: line)),"result":\#(result)}"#
    }

    /// What the next caller is told.
    private static func next(_ key: String, _ kura: Kura) async throws -> (hasToken: Bool, isThere: Bool) {
        struct Params: Encodable {
            let namespace = "feed"
            let key: String
            let claim = true
        }
        struct Answer: Decodable {
            let token: String?
            let value: RawJSON?
        }
        let answer: Answer = try await kura.call("models.get", Params(key: key))
        return (answer.token != nil, answer.value != nil)
    }

    @Test func `a fetched value that the cache refuses leaves the right to fetch to the next`() async throws {
        let daemon = try FaceDaemon()
        let (kura, other) = (try await daemon.client(), try await daemon.client())
        let large = String(repeating: "x", count: 9 << 20)
        let values = kura.models["feed"].value(for: "large", as: String.self) { large }
        #expect(try await values.newest().utf8.count == 9 << 20, "who fetched has it")
        #expect(try await Self.next("large", other) == (hasToken: true, isThere: false))
        await kura.close()
        await other.close()
    }

    @Test func `what was fetched is shared, though its task was cancelled meanwhile`() async throws {
        let daemon = try FaceDaemon()
        let (kura, other) = (try await daemon.client(), try await daemon.client())
        let task = Task {
            try await kura.models["feed"].value(for: "home", as: Int.self) {
                withUnsafeCurrentTask { $0?.cancel() }
                return 5
            }.newest()
        }
        _ = try? await task.value
        #expect(try await Self.next("home", other) == (hasToken: false, isThere: true))
        await kura.close()
        await other.close()
    }

    @Test func `an upload that failed is taken back by its commit`() async throws {
        let fake = try FakeDaemon { _, connection in
            guard connection.hello() else { return }
            while let line = connection.line() {
                if line.contains("blobs.appendUpload") {
                    let id = FakeDaemon.Connection.id(of: line)
                    connection.send(
                        #"{"jsonrpc":"2.0","id":\#(id),"error":{"code":-32003,"message":"no","data":{"kind":"valueTooLarge"}}}"#
                    )
                } else {
                    connection.send(Self.reply(line, #"{"upload":"u"}"#))
                }
            }
        }
        let kura = try await Kura.connect(to: fake.path, options: .init(timeout: .seconds(120)))
        let writer = try #require(try await kura.blobs["n"].write("k"))
        for _ in 0..<2 {
            let error = await #expect(throws: KuraError.self) { try await writer.write([1, 2, 3]) }
            #expect(error?.kind == .valueTooLarge)
        }
        let error = await #expect(throws: KuraError.self) { try await writer.commit() }
        #expect(error?.kind == .valueTooLarge)
        await kura.close()
        #expect(fake.lines.withLock { $0 }.filter { $0.line.contains("blobs.abortUpload") }.count == 1)
    }

    @Test func `a blob whose descriptor does not arrive says what is wanting`() async throws {
        let fake = try FakeDaemon { _, connection in
            guard connection.hello() else { return }
            while let line = connection.line() {
                connection.send(
                    Self.reply(
                        line,
                        #"{"found":true,"bytes":5,"digest":"d","createdAt":"2030-01-01T00:00:00.000Z","expiresAt":"2030-01-01T00:00:00.000Z"}"#
                    ))
            }
        }
        let kura = try await Kura.connect(to: fake.path, options: .init(timeout: .seconds(120)))
        let error = await #expect(throws: KuraError.self) { try await kura.blobs["n"].get("k") }
        #expect(error?.kind == .descriptorMissing && error?.advice.contains("ulimit") == true)
        await kura.close()
    }

    /// Sends a line that a file comes with, which has these bytes.
    private static func send(_ line: String, _ content: String, _ connection: FakeDaemon.Connection) {
        var template = Array("/tmp/kura-fake-XXXXXX".utf8CString)
        let file = mkstemp(&template)
        unlink(template)
        write(file, content, content.utf8.count)
        let bytes = Array((line + "\n").utf8)
        _ = csys_send_descriptor(connection.descriptor, bytes, bytes.count, file)
        close(file)
    }

    /// What `blobs.get` answers.
    private static func found(_ line: String, _ bytes: Int) -> String {
        reply(
            line,
            #"{"found":true,"bytes":\#(bytes),"digest":"d","createdAt":"2030-01-01T00:00:00.000Z","expiresAt":"2030-01-01T00:00:00.000Z"}"#
        )
    }

    @Test func `descriptors that nobody has asked for are kept for nobody, and taken for no other`() async throws {
        let fake = try FakeDaemon { _, connection in
            guard connection.hello() else { return }
            while let line = connection.line() {
                if line.contains("blobs.get") {
                    Self.send(Self.found(line, 5), "right", connection)
                } else {
                    // More than are kept: behind these nobody would know which is whose.
                    for _ in 0..<100 {
                        Self.send(#"{"jsonrpc":"2.0","method":"progress","params":{}}"#, "wrong", connection)
                    }
                    connection.send(Self.reply(line, "{}"))
                }
            }
        }
        let kura = try await Kura.connect(to: fake.path, options: .init(timeout: .seconds(120)))
        for _ in 0..<2 {
            _ = try await kura.call("storage.ping", json: [])
            let blob = try #require(try await kura.blobs["n"].get("k"))
            #expect(String(decoding: blob.copy(), as: UTF8.self) == "right")
        }
        await kura.close()
    }

    @Test func `a blob is a file of its length, and nothing else that has a descriptor`() async throws {
        let fake = try FakeDaemon { _, connection in
            guard connection.hello() else { return }
            while let line = connection.line() {
                if line.contains("short") {
                    Self.send(Self.found(line, 5), "four", connection)
                } else if line.contains("negative") {
                    Self.send(Self.found(line, -5), "right", connection)
                } else {
                    let directory = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
                    let bytes = Array((Self.found(line, 5) + "\n").utf8)
                    _ = csys_send_descriptor(connection.descriptor, bytes, bytes.count, directory)
                    close(directory)
                }
            }
        }
        let kura = try await Kura.connect(to: fake.path, options: .init(timeout: .seconds(120)))
        for key in ["short", "negative", "directory"] {
            #expect(await kind { _ = try await kura.blobs["n"].get(key) } == .badReply, "\(key)")
        }
        await kura.close()
    }

    @Test func `a selector that is no JSON object is refused before anything is asked`() async throws {
        let daemon = try FaceDaemon()
        let kura = try await daemon.client()
        let cards = kura.documents("cards", of: Card.self)
        try await cards.putMany([Card("a"), Card("b")])
        // The second would be a selector and another parameter.
        for selector in ["{", #"{"due":0},"limit":1"#, "[]", "5"] {
            let error = await #expect(throws: KuraError.self) {
                try await cards.find { _ in Condition(selector: selector) }.all()
            }
            #expect(error?.kind == .notEncodable, "\(selector)")
        }
        #expect(try await cards.count { _ in !Condition(selector: #" {"_id": "a"} "#) } == 1)
        await kura.close()
    }
}
