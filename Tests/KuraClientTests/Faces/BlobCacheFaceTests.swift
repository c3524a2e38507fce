import Glibc
import KuraClient
import Testing

@Suite struct BlobCacheFaceTests {
    private static func descriptors() -> Int {
        guard let directory = opendir("/proc/self/fd") else { return -1 }
        defer { closedir(directory) }
        var count = 0
        while readdir(directory) != nil { count += 1 }
        return count
    }

    private static func bytes(_ count: Int, _ seed: UInt8 = 1) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ Int(seed)) }
    }

    @Test(arguments: Server.allCases) func `contents of all sizes come back mapped as they were put`(server: Server)
        async throws
    {
        let daemon = try await FaceDaemon(server)
        let kura = try await daemon.client()
        let images = kura.blobs["images"]
        #expect(try await images.get("none") == nil)
        for size in [0, 1, 8192, 8193, 20_000, 1 << 20] {
            let bytes = Self.bytes(size)
            guard case .stored(let info) = try await images.put(bytes, as: "b\(size)", .init(contentType: "image/png"))
            else {
                Issue.record("\(size) bytes are declined")
                continue
            }
            #expect(info.bytes == size && info.contentType == "image/png" && info.key == "b\(size)")
            let blob = try #require(try await images.get("b\(size)", verify: true))
            #expect(blob.count == size && blob.info == info && blob.copy() == bytes)
            #expect(blob.withBytes { $0.byteCount } == size)
            if size > 100 {
                #expect(blob.copy(10..<20) == Array(bytes[10..<20]))
                #expect(blob.withBytes { $0.unsafeLoadUnaligned(fromByteOffset: 1, as: UInt8.self) } == bytes[1])
                #expect(blob.copy(size - 2..<size + 10) == Array(bytes.suffix(2)), "what is beyond the end is cut")
            }
        }
        await kura.close()
    }

    @Test(arguments: Server.allCases)
    func `a blob that is held stays readable when it is replaced, and its memory and descriptor go with it`(
        server: Server
    )
        async throws
    {
        let daemon = try await FaceDaemon(server)
        let kura = try await daemon.client()
        let images = kura.blobs["images"]
        let (old, new) = (Self.bytes(100_000, 1), Self.bytes(100_000, 2))
        try await images.put(old, as: "a")
        var blob = try await images.get("a")
        try await images.put(new, as: "a")
        #expect(blob?.copy() == old)
        #expect(try await images.get("a")?.copy() == new)
        let before = Self.descriptors()
        for _ in 0..<1000 {
            blob = try await images.get("a")
            #expect(blob?.count == 100_000)
        }
        blob = nil
        // Others' tests open descriptors, too: a thousand that stay would show.
        #expect(Self.descriptors() < before + 500)
        await kura.close()
    }

    @Test(arguments: Server.allCases) func `a file is passed and not read here`(server: Server) async throws {
        let daemon = try await FaceDaemon(server)
        let kura = try await daemon.client()
        let images = kura.blobs["images"]
        let path = daemon.root + "/picture"
        let bytes = Self.bytes(50_000)
        let number = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        #expect(write(number, bytes, bytes.count) == bytes.count)
        let file = OwnedDescriptor(owning: number)
        guard case .stored = try await images.put(file: file, as: "file") else {
            Issue.record("declined")
            return
        }
        #expect(try await images.get("file")?.copy() == bytes)
        let null = OwnedDescriptor(owning: open("/dev/null", O_RDONLY | O_CLOEXEC))
        await #expect(throws: KuraError.self) { try await images.put(file: null, as: "null") }
        await kura.close()
    }

    @Test(arguments: Server.allCases) func `a blob that comes in pieces is seen when it is committed`(server: Server)
        async throws
    {
        let daemon = try await FaceDaemon(server)
        let kura = try await daemon.client()
        let images = kura.blobs["images"]
        let bytes = Self.bytes(2_000_000)
        let writer = try #require(try await images.write("big", expectedBytes: bytes.count))
        try await writer.write(Array(bytes[..<5]))
        #expect(try await images.stat("big") == nil)
        // Two at once come one after the other, each whole.
        let (left, right) = (Array(bytes[5..<1_000_000]), Array(bytes[1_000_000...]))
        async let first: Void = writer.write(left)
        async let second: Void = writer.write(right)
        try await first
        try await second
        #expect(await writer.count == bytes.count)
        guard case .stored(let info) = try await writer.commit() else {
            Issue.record("declined")
            return
        }
        #expect(info.bytes == bytes.count)
        let content = try await images.get("big")?.copy()
        #expect(content == bytes || content == bytes[..<5] + right + left)
        await #expect(throws: KuraError.self) { try await writer.write([1]) }
        let small = try #require(try await images.write("small", expectedBytes: 2))
        await #expect(throws: KuraError.self) { try await small.write([1, 2, 3]) }
        await small.abort()
        let wrong = try #require(try await images.write("wrong"))
        try await wrong.write([1])
        await #expect(throws: KuraError.self) { try await wrong.commit(digest: String(repeating: "0", count: 64)) }
        #expect(try await images.stat("wrong") == nil)
        await kura.close()
    }

    @Test(arguments: Server.allCases) func `variants, listing, lifetimes and deletion`(server: Server) async throws {
        let daemon = try await FaceDaemon(server)
        let kura = try await daemon.client()
        let covers = kura.blobs["covers"]
        guard case .stored(let parent) = try await covers.put([1, 2, 3], as: "7") else {
            Issue.record("declined")
            return
        }
        guard
            case .stored(let small) = try await covers.put(
                [4], as: "7", variant: "small", .init(variantOf: parent.digest))
        else {
            Issue.record("declined")
            return
        }
        #expect(small.variant == "small")
        #expect(try await covers.get("7", variant: "small")?.copy() == [4])
        let other = try #require(try await covers.get("7", variant: "wide", orParent: true))
        #expect(other.info.isParent && other.copy() == [1, 2, 3])
        #expect(try await covers.put([9], as: "7", .init(ifAbsent: true)) == .declined(reason: "present"))
        #expect(
            try await covers.put([5], as: "7", variant: "x", .init(variantOf: small.digest))
                == .declined(reason: "parentChanged"))
        #expect(try await covers.touch("7", lifetime: .seconds(60)))
        let touched = try #require(try await covers.stat("7"))
        #expect(touched.expiresAt < parent.expiresAt && touched.digest == parent.digest)
        try await covers.put([1], as: "other")
        var names: [String] = []
        for try await info in covers.list() { names.append("\(info.key) \(info.variant ?? "")") }
        #expect(names == ["7 ", "7 small", "other "])
        names = []
        for try await info in covers.list(prefix: "o") { names.append(info.key) }
        #expect(names == ["other"])
        #expect(try await covers.delete("7"))
        #expect(try await covers.stat("7", variant: "small") == nil)
        try await covers.configure(maxEntries: 1)
        try await covers.put([2], as: "second")
        #expect(try await covers.stat("other") == nil, "there is room for one")
        await kura.close()
    }
}
