import Glibc
import Testing

@testable import KuraClient

/// What is said of blobs on the wire, and what becomes of those that are not as they should be.
@Suite struct UploadsTests {
    private static let blob =
        #""bytes":5,"digest":"d","createdAt":"2030-01-01T00:00:00.000Z","expiresAt":"2030-01-01T00:00:00.000Z""#

    private static func client(_ fake: FakeDaemon) async throws -> Kura {
        try await Kura.connect(to: fake.path, options: .init(timeout: .seconds(120)))
    }

    private static func daemon(_ answer: @escaping @Sendable (String) -> String) throws -> FakeDaemon {
        try FakeDaemon { _, connection in
            guard connection.hello() else { return }
            while let line = connection.line() { connection.send(answer(line)) }
        }
    }

    @Test func `a piece that failed is the last, and long ones are sent as several`() async throws {
        let fake = try Self.daemon { line in
            line.contains(#""key":"bad""#)
                ? FakeDaemon.reply(line, #"{"upload":"bad"}"#)
                : line.contains(#""upload":"bad""#) && line.contains("blobs.appendUpload")
                    ? FakeDaemon.error(line, "valueTooLarge") : FakeDaemon.reply(line, #"{"upload":"good"}"#)
        }
        let kura = try await Self.client(fake)
        let bad = try #require(try await kura.blobs["n"].write("bad"))
        for _ in 0..<2 {
            let error = await #expect(throws: KuraError.self) { try await bad.write([1]) }
            #expect(error?.kind == .valueTooLarge)
        }
        #expect(fake.lines(with: "blobs.appendUpload").count == 1)
        await bad.abort()
        let ended = await #expect(throws: KuraError.self) { try await bad.write([1]) }
        #expect(ended?.kind == .uploadNotFound && ended?.message.contains("bad") == true)
        let again = await #expect(throws: KuraError.self) { try await bad.commit() }
        #expect(again?.kind == .uploadNotFound)
        #expect(fake.lines(with: "blobs.appendUpload").count == 1, "an ended one sends nothing")
        #expect(fake.lines(with: "blobs.commitUpload").isEmpty)
        let good = try #require(try await kura.blobs["n"].write("good"))
        try await good.write([UInt8](repeating: 0, count: 2 * BlobWriter.pieceBytes + 1))
        let offsets = fake.lines(with: #""upload":"good""#).map { line in
            line.split(separator: #""offset":"#).last?.prefix { $0.isNumber }
        }
        #expect(offsets == ["0", "\(BlobWriter.pieceBytes)", "\(2 * BlobWriter.pieceBytes)"])
        await kura.close()
    }

    @Test func `an upload that nobody wants any more is taken back, also by a task that was cancelled`() async throws {
        let fake = try Self.daemon { FakeDaemon.reply($0, #"{"upload":"u"}"#) }
        let kura = try await Self.client(fake)
        do {
            let writer = try #require(try await kura.blobs["n"].write("k"))
            try await writer.write([1])
        }
        try await eventually("who lets go of it takes it back") { fake.lines(with: "blobs.abortUpload").count == 1 }
        let writer = try #require(try await kura.blobs["n"].write("k"))
        await Task {
            withUnsafeCurrentTask { $0?.cancel() }
            await writer.abort()
            await writer.abort()
        }.value
        #expect(fake.lines(with: "blobs.abortUpload").count == 2)
        await kura.close()
    }

    @Test func `blobs are listed a page at a time, and all of them`() async throws {
        let fake = try Self.daemon { line in
            let isFirst = !line.contains("behind")
            let rest = isFirst ? #","cursor":"behind""# : ""
            return FakeDaemon.reply(line, #"{"blobs":[{"key":"\#(isFirst ? "a" : "b")",\#(Self.blob)}]\#(rest)}"#)
        }
        let kura = try await Self.client(fake)
        var keys: [String] = []
        for try await info in kura.blobs["n"].list() { keys.append(info.key) }
        #expect(keys == ["a", "b"])
        await kura.close()
    }

    @Test func `what is to be verified is, by whoever reads and whoever writes`() async throws {
        let fake = try Self.daemon { FakeDaemon.reply($0, #"{"found":false,"stored":false,"upload":"u"}"#) }
        let kura = try await Self.client(fake)
        let blobs = kura.blobs["n"]
        #expect(try await blobs.get("k", verify: true) == nil)
        _ = try await blobs.put([1], as: "k", .init(digest: "mine"))
        _ = try await blobs.put([UInt8](repeating: 1, count: 9000), as: "k", .init(digest: "mine"))
        let writer = try #require(try await blobs.write("k", .init(digest: "mine")))
        _ = try await writer.commit(digest: "own")
        await kura.close()
        #expect(fake.lines(with: #""verify":true"#).count == 1)
        #expect(fake.lines(with: #""digest":"mine""#).count == 3)
        #expect(fake.lines(with: "blobs.commitUpload").first?.contains(#""digest":"own""#) == true)
    }

    @Test func `a file that has fewer bytes than its blob is not mapped`() throws {
        let file = try MemoryFile.make([1, 2, 3])
        #expect(try FileMap(file, bytes: 3).withBytes { $0.byteCount } == 3)
        // To read behind its end would be a SIGBUS.
        let error = #expect(throws: KuraError.self) { try FileMap(file, bytes: 5000) }
        #expect(error?.kind == .badReply)
    }
}
