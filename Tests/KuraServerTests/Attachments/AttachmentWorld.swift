import Glibc
import KuraTestSupport
import Testing

/// A daemon with documents that have attachments, and what lies in its data directory.
final class AttachmentWorld {
    let daemon: TemporaryDaemon

    init(faults: String? = nil) throws {
        signal(SIGPIPE, SIG_IGN)
        daemon = try TemporaryDaemon(faults: faults)
    }

    func connect() throws -> Client { try daemon.connect() }

    static func params(_ id: String, _ name: String? = nil, _ more: String = "") -> String {
        let name = name.map { ",\"name\":\"\($0)\"" } ?? ""
        return "{\"collection\":\"cards\",\"id\":\"\(id)\"\(name)\(more)}"
    }

    static func put(_ client: Client, _ id: String, _ value: String = "{}") throws {
        try client.result("documents.put", params(id, nil, ",\"value\":\(value)"))
    }

    @discardableResult
    static func attach(_ client: Client, _ id: String, _ name: String, _ text: String, _ more: String = "") throws
        -> JSON
    {
        try client.result(
            "documents.attach", params(id, name, ",\"data\":\"\(base64(Array(text.utf8)))\"\(more)"))
    }

    /// An attachment's content as text; nil when there is none.
    static func read(_ client: Client, _ id: String, _ name: String) throws -> String? {
        let reply = try client.call("documents.attachment", params(id, name))
        if reply["error"]?["data"]?["kind"]?.text == "notFound" { return nil }
        let data = try #require(reply["result"]?["data"]?.text, "\(reply)")
        let content = try #require(Self.bytes(ofBase64: data))
        #expect(content.count == reply["result"]?["bytes"]?.int)
        return String(decoding: content, as: UTF8.self)
    }

    /// The names in a document's list.
    static func names(_ client: Client, _ id: String) throws -> [String] {
        try client.result("documents.get", params(id))["attachments"]?.elements.compactMap { $0["name"]?.text } ?? []
    }

    // MARK: Files

    /// Digests of the contents that lie there.
    var contents: [String] {
        let root = daemon.data + "/durable/attachments"
        return (TemporaryDaemon.names(root) ?? []).flatMap { directory in
            (TemporaryDaemon.names(root + "/" + directory) ?? []).map { directory + $0 }
        }.sorted()
    }

    var temporary: [String] { TemporaryDaemon.names(daemon.data + "/tmp") ?? [] }

    /// Waits until so many contents lie there, and nothing else is left over.
    func expectContents(_ count: Int, _ location: SourceLocation = #_sourceLocation) throws {
        let deadline = now() + 60
        while contents.count != count || !temporary.isEmpty, now() < deadline { usleep(10_000) }
        #expect(contents.count == count, "\(contents)", sourceLocation: location)
        #expect(temporary.isEmpty, "\(temporary)", sourceLocation: location)
    }

    /// Each file is what its name says, by a program that has nothing to do with the daemon.
    func expectWholeContents(_ location: SourceLocation = #_sourceLocation) throws {
        for digest in contents {
            let path = "\(daemon.data)/durable/attachments/\(digest.prefix(2))/\(digest.dropFirst(2))"
            #expect(try Self.b2sum(path) == digest, sourceLocation: location)
        }
    }

    static func b2sum(_ path: String) throws -> String {
        let stream = try #require(popen("b2sum -l 256 '\(path)'", "re"))
        defer { pclose(stream) }
        var line = [CChar](repeating: 0, count: 256)
        fgets(&line, 256, stream)
        return String(decoding: line.prefix(64).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// A file of these bytes, open for reading, without a name.
    func file(_ bytes: [UInt8], flags: Int32 = O_RDONLY) throws -> Int32 { try daemon.file(bytes, flags: flags) }

    /// Descriptors that the daemon has of files and pipes of this test.
    var held: Int {
        daemon.openFiles.count { path in
            path.contains("/input-") || path.contains("/pipe-") || path == "/dev/zero"
        }
    }

    func expectNoneHeld(_ location: SourceLocation = #_sourceLocation) {
        let deadline = now() + 60
        while held > 0, now() < deadline { usleep(5000) }
        #expect(held == 0, sourceLocation: location)
    }

    static func base64(_ bytes: [UInt8]) -> String { TestBytes.base64(bytes) }
    static func bytes(ofBase64 text: String) -> [UInt8]? { TestBytes.bytes(ofBase64: text) }
}

extension Client {
    /// The next bytes, with the descriptor that came along, if one did. Nothing may have been read ahead.
    func receiveDescriptor() throws -> (text: String, descriptor: Int32?) {
        var bytes = [UInt8](repeating: 0, count: 64 << 10)
        var control = [UInt64](repeating: 0, count: 8)
        var passed: Int32?
        let count = control.withUnsafeMutableBytes { control in
            bytes.withUnsafeMutableBytes { bytes in
                var part = iovec(iov_base: bytes.baseAddress, iov_len: bytes.count)
                return withUnsafeMutablePointer(to: &part) { part in
                    var message = msghdr()
                    message.msg_iov = part
                    message.msg_iovlen = 1
                    message.msg_control = control.baseAddress
                    message.msg_controllen = control.count
                    let count = recvmsg(descriptor, &message, Int32(MSG_CMSG_CLOEXEC))
                    if message.msg_controllen >= 20 { passed = control.load(fromByteOffset: 16, as: Int32.self) }
                    return count
                }
            }
        }
        try #require(count > 0, "recvmsg: \(errno)")
        return (String(decoding: bytes[..<count], as: UTF8.self), passed)
    }
}
