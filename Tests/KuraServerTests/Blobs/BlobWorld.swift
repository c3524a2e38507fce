import Glibc
import KuraTestSupport
import Testing

/// A daemon with blobs, and what lies in its data directory.
final class BlobWorld {
    let daemon: TemporaryDaemon

    init(faults: String? = nil, configuration: String? = nil, movesTime: Bool = false) throws {
        signal(SIGPIPE, SIG_IGN)
        daemon = try TemporaryDaemon(configuration: configuration, faults: faults, movesTime: movesTime)
    }

    func connect() throws -> Client { try daemon.connect() }

    static func params(_ key: String, _ more: String = "", namespace: String = "images") -> String {
        "{\"namespace\":\"\(namespace)\",\"key\":\"\(key)\"\(more)}"
    }

    static func data(_ bytes: [UInt8]) -> String { ",\"data\":\"\(base64(bytes))\"" }

    /// Stores bytes that come in the line.
    @discardableResult
    static func put(
        _ client: Client, _ key: String, _ bytes: [UInt8], _ more: String = "", namespace: String = "images"
    ) throws -> JSON {
        try client.result("blobs.put", params(key, data(bytes) + more, namespace: namespace))
    }

    /// A blob's content that came in the line; nil when there is none.
    static func read(_ client: Client, _ key: String, _ more: String = "", namespace: String = "images") throws
        -> [UInt8]?
    {
        let result = try client.result("blobs.get", params(key, more, namespace: namespace))
        guard result["found"]?.bool == true else { return nil }
        let text = try #require(result["data"]?.text)
        let content = try #require(AttachmentWorld.bytes(ofBase64: text))
        #expect(content.count == result["range"]?["length"]?.int ?? result["bytes"]?.int)
        return content
    }

    /// The reply to a read that asks for a descriptor, and the descriptor.
    static func open(_ client: Client, _ key: String, _ more: String = "") throws -> (JSON, Int32?) {
        client.send(Client.request("blobs.get", params(key, ",\"as\":\"fd\"\(more)")))
        let (text, descriptor) = try client.receiveDescriptor()
        let reply = try JSON(String(text.dropLast()))
        return (try #require(reply["result"]), descriptor)
    }

    static func contents(of descriptor: Int32) -> [UInt8] {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = pread(descriptor, &chunk, chunk.count, off_t(bytes.count))
            if count <= 0 { return bytes }
            bytes += chunk[..<count]
        }
    }

    /// Bytes that are like no others.
    static func bytes(_ count: Int, seed: Int = 1) -> [UInt8] { TestBytes.noise(count, seed: seed) }

    // MARK: Files

    private var directory: String { daemon.data + "/cache/blobs" }

    /// Digests of the contents that have files.
    var files: [String] {
        (TemporaryDaemon.names(directory) ?? []).flatMap { part in
            (TemporaryDaemon.names(directory + "/" + part) ?? []).map { part + $0 }
        }.sorted()
    }

    func path(_ digest: String) -> String { "\(directory)/\(digest.prefix(2))/\(digest.dropFirst(2))" }

    func expectFiles(_ count: Int, _ location: SourceLocation = #_sourceLocation) {
        let deadline = now() + 60
        while files.count != count, now() < deadline { usleep(10_000) }
        #expect(files.count == count, "\(files)", sourceLocation: location)
    }

    var setAside: [String] {
        (TemporaryDaemon.names(daemon.data + "/quarantine") ?? []).filter { $0.hasPrefix("blob-") }
    }

    /// A file of these bytes, open for reading, without a name.
    func file(_ bytes: [UInt8], flags: Int32 = O_RDONLY) throws -> Int32 { try daemon.file(bytes, flags: flags) }

    /// Descriptors that the daemon has of files of this test, of contents, and of files in memory.
    private var held: Int {
        daemon.openFiles.count { path in
            path.contains("/input-") || path.contains("/cache/blobs") && !path.contains(".sqlite")
                || path.contains("memfd:")
        }
    }

    /// `kept`: contents that have been asked for as descriptors, which stay open.
    func expectNoneHeld(butKept kept: Int = 0, _ location: SourceLocation = #_sourceLocation) {
        let deadline = now() + 60
        // What clients that are gone have asked for may still be opened and closed.
        var left = held
        while left > kept, now() < deadline {
            usleep(5000)
            left = held
        }
        #expect(left <= kept, sourceLocation: location)
    }

    /// Waits until the daemon has no more descriptors than that.
    func expectDescriptors(_ count: Int, _ location: SourceLocation = #_sourceLocation) {
        let deadline = now() + 60
        var left = daemon.descriptorCount
        while left > count, now() < deadline {
            usleep(5000)
            left = daemon.descriptorCount
        }
        #expect(left <= count, sourceLocation: location)
    }

    static func base64(_ bytes: [UInt8]) -> String { TestBytes.base64(bytes) }
}
