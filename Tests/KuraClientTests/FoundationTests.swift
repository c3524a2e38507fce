import Foundation
import KuraClient
import KuraFoundation
import KuraTesting
import Testing

/// The product for applications that use Foundation.
@Suite struct FoundationTests {
    /// A directory that goes with the test.
    private final class Directory {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent("kura-foundation-\(UUID().uuidString)")
        var names: [String] { (try? FileManager.default.contentsOfDirectory(atPath: url.path)) ?? [] }

        init() throws { try FileManager.default.createDirectory(at: url, withIntermediateDirectories: false) }
        deinit { try? FileManager.default.removeItem(at: url) }
    }

    private static let bytes = Data((0..<3_000_001).map { UInt8(truncatingIfNeeded: $0 * 31 + $0 >> 8) })

    @Test func `secrets are data, whatever is in them, and expire at a moment`() async throws {
        let kura = try await Kura.inMemory()
        let mail = kura.secrets["mail"]
        let key = Data([0xFF, 0, 0xC3, 0x28])
        let moment = Date(timeIntervalSince1970: 4_000_000_000)
        try await mail.put("key", Secret(key), label: "a key", expires: moment)
        let found = try #require(try await mail.get("key")?.secret)
        #expect(found.data == key && found.kind == .binary && Secret(Data()).data.isEmpty)
        #expect(Secret(text: "é").data == Data([0xC3, 0xA9]))
        let info = try #require(try await mail.list().first)
        #expect(info.expires == moment && info.label == "a key")
        try await mail.put("other", Secret(key))
        #expect(try await mail.list().first { $0.account == "other" }.map { $0.expires == nil } == true)
        await kura.close()
    }

    @Test func `a secret's data is a copy, and all that is said of one that expires goes along`() async throws {
        let key = Data([0xFF, 0, 0xC3, 0x28])
        // So many that `Data` does not have them within itself.
        let many = Data((0..<5000).map { UInt8(truncatingIfNeeded: $0) })
        var secret: Secret? = Secret(many)
        let copy = try #require(secret).data
        secret = nil
        #expect(copy == many, "it outlasts the secret, which is zeroed")

        let kura = try await Kura.inMemory()
        let (mail, moment) = (kura.secrets["mail"], Date(timeIntervalSince1970: 4_000_000_000))
        let once = CallOptions(requestKey: .named("once"))
        let rev = try await mail.put("a", Secret(key), attributes: ["user": "ada"], expires: moment, options: once)
        #expect(try await mail.list().first?.attributes == ["user": "ada"])
        let again = try await mail.put("a", Secret(key), attributes: ["user": "ada"], expires: moment, options: once)
        #expect(again == rev, "it is the same write")
        let error = await #expect(throws: KuraError.self) {
            try await mail.put("a", Secret(Data([1])), expires: moment, ifRev: rev + 1)
        }
        #expect(error?.kind == .conflict && error?.currentRev == rev)
        #expect(try await mail.get("a")?.secret.data == key)
        await kura.close()
    }

    @Test func `blobs are data and files`() async throws {
        let kura = try await Kura.inMemory()
        let (directory, bytes) = (try Directory(), Self.bytes)
        let (source, target) = (directory.url.appendingPathComponent("in"), directory.url.appendingPathComponent("out"))
        try bytes.write(to: source)

        // snippet: Documents.foundation
        let images = kura.blobs["images"]
        try await images.put(contentsOf: source, as: "photo", .init(contentType: "image/png"))
        let head = try await images.get("photo")?.data(0..<8)
        try await images.export("photo", to: target)
        // end
        #expect(head == bytes.prefix(8))
        #expect(try Data(contentsOf: target) == bytes)
        let photo = try #require(try await images.get("photo"))
        #expect(photo.data() == bytes && photo.data(2_999_999..<9_000_000) == bytes.suffix(2))
        #expect(photo.info.contentType == "image/png")

        for (key, data) in [("small", bytes.prefix(100)), ("none", Data()), ("part", bytes[5..<20_000])] {
            try await images.put(data, as: key)
            #expect(try await images.get(key)?.data() == data, "\(key)")
        }
        let writer = try #require(try await images.write("pieces"))
        try await writer.write(bytes.prefix(7))
        try await writer.write(bytes[7..<1_000_000])
        try await writer.commit()
        #expect(try await images.get("pieces")?.data() == bytes.prefix(1_000_000))
        await kura.close()
    }

    @Test func `a file has all of a blob or is as it was, and one that cannot be read stores nothing`() async throws {
        let kura = try await Kura.inMemory()
        let (images, directory) = (kura.blobs["images"], try Directory())
        let target = directory.url.appendingPathComponent("out")
        try Data([1]).write(to: target)
        #expect(try await images.export("photo", to: target) == false)
        #expect(try Data(contentsOf: target) == Data([1]))
        try await images.put(Data([2, 3]), as: "photo")
        #expect(try await images.export("photo", to: target))
        #expect(try Data(contentsOf: target) == Data([2, 3]))
        // A directory cannot be replaced by a file; nor is anything left beside it.
        let other = directory.url.appendingPathComponent("directory")
        try FileManager.default.createDirectory(at: other, withIntermediateDirectories: false)
        await #expect(throws: POSIXError.self) { try await images.export("photo", to: other) }
        await #expect(throws: CocoaError.self) {
            try await images.export("photo", to: other.appendingPathComponent("none/out"))
        }
        #expect(directory.names.sorted() == ["directory", "out"])
        await #expect(throws: CocoaError.self) {
            try await images.put(contentsOf: directory.url.appendingPathComponent("none"), as: "none")
        }
        #expect(try await images.stat("none") == nil)
        await kura.close()
    }

    @Test func `moments are dates, and errors say what they say`() async throws {
        let kura = try await Kura.inMemory()
        let images = kura.blobs["images"]
        try await images.put(Data([1]), as: "a", .init(lifetime: .seconds(3600)))
        let info = try #require(try await images.stat("a"))
        let (created, expires) = (try #require(info.created), try #require(info.expires))
        #expect(abs(expires.timeIntervalSince(created) - 3600) < 1)
        // What the daemon has written to the millisecond is read to it.
        let milliseconds = Int((created.timeIntervalSince1970 * 1000).rounded()) % 1000
        #expect(Int(info.createdAt.dropLast().suffix(3)) == milliseconds)
        await kura.close()
        do {
            _ = try await images.stat("a")
            Issue.record("it is closed")
        } catch {
            #expect((error as any Error).localizedDescription == error.description)
            #expect((error as any LocalizedError).failureReason == error.message)
        }
    }
}
