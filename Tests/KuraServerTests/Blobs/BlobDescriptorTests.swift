import Glibc
import Testing

/// Descriptors in both directions: nothing is written through them, nothing of them leaks.
@Suite struct BlobDescriptorTests {
    private typealias World = BlobWorld
    private let world: BlobWorld
    private let client: Client

    init() throws {
        world = try BlobWorld()
        client = try world.connect()
    }

    @Test(arguments: [100, 100_000])
    func `nobody writes through a descriptor that was passed`(_ size: Int) throws {
        let bytes = World.bytes(size)
        try World.put(client, "a", bytes)
        let passed = try #require(try World.open(client, "a").1)
        defer { close(passed) }
        #expect(fcntl(passed, F_GETFL) & O_ACCMODE == O_RDONLY)
        var byte: UInt8 = 0xFF
        #expect(write(passed, &byte, 1) < 0)
        #expect(pwrite(passed, &byte, 1, 0) < 0)
        #expect(ftruncate(passed, 0) < 0)
        #expect(posix_fallocate(passed, 0, off_t(size) * 2) != 0)
        let shared = mmap(nil, size, PROT_READ | PROT_WRITE, MAP_SHARED, passed, 0)
        #expect(shared == MAP_FAILED)
        // What is in memory only is sealed: it cannot be opened anew for writing either, not even by its owner.
        if size <= 16_384 {
            let reopened = open("/proc/self/fd/\(passed)", O_RDWR | O_CLOEXEC)
            #expect(reopened < 0 || pwrite(reopened, &byte, 1, 0) < 0)
            if reopened >= 0 { close(reopened) }
        }
        #expect(World.contents(of: passed) == bytes)
        #expect(try World.read(client, "a") == bytes)
    }

    @Test func `a blob stays readable through its descriptor when it is replaced and removed`() throws {
        let bytes = World.bytes(200_000)
        try World.put(client, "a", bytes)
        let passed = try #require(try World.open(client, "a").1)
        try World.put(client, "a", [1])
        try client.result("blobs.delete", World.params("a"))
        world.expectFiles(0)
        #expect(World.contents(of: passed) == bytes)
        close(passed)
    }

    @Test func `descriptors of anything but a regular file are refused and closed`() throws {
        let path = world.daemon.root + "/pipe-x"
        try #require(mkfifo(path, 0o600) == 0)
        var pair: [Int32] = [-1, -1]
        socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0, &pair)
        let hostile = [
            open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC), open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC),
            open("/dev/zero", O_RDONLY | O_CLOEXEC), open("/dev/null", O_RDONLY | O_CLOEXEC),
            try world.file([1], flags: O_WRONLY),
            try world.file([1], flags: 0o10000000), open("/proc/self/status", O_RDONLY | O_CLOEXEC), pair[0],
        ]
        for descriptor in hostile {
            let reply = try client.call("blobs.put", World.params("a", ",\"fd\":true"), descriptors: [descriptor])
            #expect(reply["error"]?["data"]?["kind"]?.text == "transferFailed", "\(reply)")
        }
        for descriptor in hostile + [pair[1]] { close(descriptor) }
        #expect(try World.read(client, "a") == nil)
        world.expectFiles(0)
    }

    @Test(arguments: [1000, 600 << 10], [false, true])
    func `a file that shrinks or grows while it is read is refused`(_ size: Int, _ grows: Bool) throws {
        // When its size has been asked for: a small one is read then, for a large one a file is made.
        let (point, hit) = size < 16_384 ? ("foreign.read", 2) : ("blob.open", 1)
        #expect(world.daemon.terminate() == 0)
        try world.daemon.start(faults: world.daemon.pause(at: point, hit: hit))
        let client = try world.connect()
        let file = try world.file(World.bytes(size), flags: O_RDWR)
        try client.send(Client.request("blobs.put", World.params("a", ",\"fd\":true")), descriptors: [file])
        try world.daemon.waitUntilPaused(at: point)
        ftruncate(file, off_t(grows ? size * 2 : size / 2))
        try world.daemon.goOn(at: point)
        let reply = try client.reply()
        close(file)
        #expect(reply["error"]?["data"]?["hint"]?.text == "the file changed its size while it was read", "\(reply)")
        #expect(try World.read(client, "a") == nil)
    }

    @Test func `a descriptor that nobody asked for is closed with its line, and is none of a later request's`() throws {
        _ = try client.result("storage.ping")
        let before = world.daemon.settledDescriptorCount
        let file = try world.file([1, 2, 3])
        defer { close(file) }
        let calls = [
            ("storage.ping", "{}"), ("blobs.get", World.params("none")),
            ("blobs.put", World.params("b", World.data([9]))),
        ]
        for (method, params) in calls {
            #expect(try client.call(method, params, descriptors: [file])["result"] != nil)
            world.expectDescriptors(before)
            let late = try client.call("blobs.put", World.params("a", ",\"fd\":true"))
            #expect(late["error"]?["data"]?["kind"]?.text == "descriptorMissing", "\(method): \(late)")
        }
        #expect(try World.read(client, "a") == nil)
        let reply = try client.call("blobs.put", World.params("a", ",\"fd\":true"), descriptors: [file])
        #expect(reply["result"]?["stored"]?.bool == true)
        #expect(try World.read(client, "a") == [1, 2, 3])
    }

    /// Lines and descriptors in every shape that a client may give them: none, too many, of the wrong kind, with the wrong line, in pieces,
    /// several lines at once, with notifications and broken lines between.
    @Test func `no descriptor leaks, whatever comes with which line`() throws {
        try World.put(client, "large", World.bytes(50_000))
        try World.put(client, "small", [1, 2, 3])
        let contents = (0..<50).map { World.bytes(40_000, seed: $0) }
        var (before, round, messages) = (0, 0, 0)
        var random = SystemRandomNumberGenerator()
        while messages < 10_000 {
            round += 1
            // Threads open what they need with the first of them.
            if round == 40 {
                world.expectNoneHeld(butKept: 1)
                before = world.daemon.settledDescriptorCount
            }
            let hostile = try world.connect()
            var text = ""
            var files: [Int32] = []
            for number in 0..<Int.random(in: 1...8, using: &random) {
                let id = Bool.random(using: &random) ? "\(number)" : nil
                switch Int.random(in: 0..<7, using: &random) {
                case 0: text += Client.request("blobs.put", World.params("x\(number)", ",\"fd\":true"), id: id)
                case 1: text += Client.request("blobs.get", World.params("large", ",\"as\":\"fd\""), id: id)
                case 2: text += Client.request("blobs.get", World.params("small", ",\"as\":\"fd\""), id: id)
                case 3: text += Client.request("blobs.put", World.params("", ",\"fd\":true"), id: id)
                case 4: text += "{\"jsonrpc\":\"2.0\",\"method\":\"blobs.put\",\"params\":{\"fd\":true\n"
                case 5: text += Client.request("blobs.get", World.params("none", ",\"as\":\"fd\""), id: id)
                default: text += Client.request("storage.ping", id: id)
                }
                messages += 1
                switch Int.random(in: 0..<5, using: &random) {
                case 0: files.append(try world.file(contents[round % 50]))
                case 1: files.append(try world.file([UInt8(truncatingIfNeeded: round)]))
                case 2: files.append(open("/dev/null", O_RDONLY | O_CLOEXEC))
                case 3: files.append(open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC))
                default: break
                }
            }
            // In one piece, or in pieces that end anywhere, each with some of the descriptors.
            var bytes = Array(text.utf8)[...]
            var left = files[...]
            while !bytes.isEmpty {
                let count = Bool.random(using: &random) ? bytes.count : Int.random(in: 1...bytes.count, using: &random)
                let some = left.prefix(Int.random(in: 0...left.count, using: &random))
                let piece = String(decoding: bytes.prefix(count), as: UTF8.self)
                if some.isEmpty { hostile.send(piece) } else { try hostile.send(piece, descriptors: Array(some)) }
                bytes = bytes.dropFirst(count)
                left = left.dropFirst(some.count)
            }
            for file in files { close(file) }
            // Some go without reading.
            if Bool.random(using: &random) {
                hostile.halfClose()
                // Descriptors that come along are closed by the kernel, as nobody has asked for them.
                _ = try? hostile.lines()
            }
        }
        world.expectNoneHeld(butKept: 1)
        world.expectDescriptors(before)
        #expect(try World.read(client, "small") == [1, 2, 3])
    }

    @Test func `several blobs are put and read in a batch and by a client that waives the order`() throws {
        let free = try world.connect()
        try free.result("session.hello", "{\"enable\":[\"outOfOrder\"]}")
        let files = try (0..<8).map { try world.file(World.bytes(20_000, seed: $0)) }
        for (number, file) in files.enumerated() {
            try free.send(
                Client.request("blobs.put", World.params("f\(number)", ",\"fd\":true"), id: "\(number)")
                    + Client.request(
                        "blobs.put", World.params("t\(number)", World.data([UInt8(number)])), id: "\(number + 100)"),
                descriptors: [file])
            close(file)
        }
        for _ in 0..<16 { #expect(try free.reply()["result"]?["stored"]?.bool == true) }
        let batch = (0..<8).map { String(Client.request("blobs.get", World.params("f\($0)"), id: "\($0)").dropLast()) }
        client.send("[" + batch.joined(separator: ",") + "]\n")
        let replies = try JSON(try #require(try client.line())).elements
        for (number, reply) in replies.enumerated() {
            let text = try #require(reply["result"]?["data"]?.text)
            #expect(AttachmentWorld.bytes(ofBase64: text) == World.bytes(20_000, seed: number))
        }
        #expect(replies.count == 8)
        for number in 0..<8 { #expect(try World.read(client, "t\(number)") == [UInt8(number)]) }
    }

    @Test func `a path leads to a file beneath the import roots, and out of none`() throws {
        let root = world.daemon.root + "/roots"
        mkdir(root, 0o700)
        let other = try BlobWorld(configuration: "{\"importRoots\":[\"\(root)\"]}")
        let client = try other.connect()
        let bytes = World.bytes(30_000)
        TemporaryDaemon.write("", to: root + "/a")
        let file = open(root + "/a", O_WRONLY | O_TRUNC | O_CLOEXEC)
        _ = bytes.withUnsafeBytes { write(file, $0.baseAddress, $0.count) }
        close(file)
        try client.result("blobs.put", World.params("a", ",\"path\":\"\(root)/a\""))
        #expect(try World.read(client, "a") == bytes)
        symlink("/etc/hostname", root + "/link")
        mkfifo(root + "/pipe", 0o600)
        for (path, kind) in [
            ("\(root)/link", "pathDenied"), ("/etc/hostname", "pathDenied"), ("\(root)/../x", "pathDenied"),
            ("\(root)/none", "transferFailed"), ("\(root)/pipe", "transferFailed"), ("\(root)", "pathDenied"),
        ] {
            #expect(
                try client.refusal("blobs.put", World.params("b", ",\"path\":\"\(path)\""))["kind"]?.text == kind,
                "\(path)")
        }
        let result = try client.result("blobs.get", World.params("a", ",\"as\":\"path\""))
        let path = try #require(result["path"]?.text)
        #expect(TemporaryDaemon.contents(path) == bytes)
        try World.put(client, "small", [1])
        #expect(try client.result("blobs.get", World.params("small", ",\"as\":\"path\""))["data"]?.text == "AQ==")
    }
}
