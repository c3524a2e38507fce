import Glibc
import Testing

/// What an earlier release has left: a file of Tests/Fixtures, which scripts/fixtures has made.
struct EarlierRelease: CustomTestStringConvertible, Sendable {
    let name: String

    var testDescription: String { name }

    private static let directory: String = {
        let checkout = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(4)
        return checkout.joined(separator: "/") + "/Tests/Fixtures"
    }()

    static let all: [EarlierRelease] = (TemporaryDaemon.names(directory) ?? [])
        .filter { $0.hasSuffix(".tar.gz") }.map { EarlierRelease(name: String($0.dropLast(".tar.gz".count))) }

    /// The one with the newest formats.
    static let newest = all.max { $0.name < $1.name }

    /// The layout of its tables.
    var layout: Int { Int(name.dropFirst("layout".count).prefix { $0.isNumber }) ?? 0 }

    /// Puts the directory in the place of a daemon's that has not been started.
    func unpack(to daemon: TemporaryDaemon) throws {
        let arguments = ["tar", "-xzpf", "\(Self.directory)/\(name).tar.gz", "--no-same-owner", "-C", daemon.root]
        var argv = arguments.map { strdup($0) } + [nil]
        defer { for pointer in argv { free(pointer) } }
        var pid: pid_t = 0
        try #require(posix_spawnp(&pid, "tar", nil, nil, &argv, environ) == 0)
        var status: Int32 = 0
        try #require(waitpid(pid, &status, 0) == pid && status == 0)
    }

    /// What the release itself has answered to a read.
    struct Read {
        var method: String
        /// JSON.
        var params: String
        var result: JSON
    }

    static func reads(_ daemon: TemporaryDaemon) throws -> [Read] {
        let text = try #require(TemporaryDaemon.contents(daemon.root + "/expected.ndjson"))
        return try String(decoding: text, as: UTF8.self).split(separator: "\n").map { line in
            let read = try JSON(String(line))
            return Read(
                method: try #require(read["method"]?.text), params: try #require(read["params"]?.text),
                result: try #require(read["reply"]?["result"] ?? read["result"]))
        }
    }

    /// Asks a daemon for everything that the release has answered, and expects nothing less.
    static func expectAll(_ daemon: TemporaryDaemon, _ comment: Comment) throws {
        let client = try daemon.connect()
        let reads = try reads(daemon)
        #expect(reads.count > 10)
        for read in reads {
            var expected = read.result.members
            // Of a whole scope: what the daemon does by itself counts too.
            if !read.method.hasSuffix(".get"), !read.method.hasSuffix(".attachment") { expected["rev"] = nil }
            // How an answer was found may become better, and time goes on.
            for name in ["plan", "cursor", "ageMs", "state"] { expected[name] = nil }
            let found = try client.result(read.method, read.params)
            for (name, value) in expected {
                #expect(found[name]?.has(value) == true, "\(comment): \(read.method) \(read.params), \(name): \(found)")
            }
        }
    }
}

extension JSON {
    /// Whether it is that value; members that are new are welcome.
    fileprivate func has(_ old: JSON) -> Bool {
        switch (self, old) {
        case (.object(let members), .object(let expected)):
            expected.allSatisfy { name, value in members[name]?.has(value) == true }
        case (.array(let elements), .array(let expected)):
            elements.count == expected.count && zip(elements, expected).allSatisfy { $0.has($1) }
        default: self == old
        }
    }
}

extension TemporaryDaemon {
    /// Every file below a directory with its bytes, directories with none.
    static func tree(_ path: String) -> [String: [UInt8]] {
        var tree: [String: [UInt8]] = [:]
        for name in names(path) ?? [] {
            var information = stat()
            guard lstat(path + "/" + name, &information) == 0 else { continue }
            if information.st_mode & S_IFMT == S_IFDIR {
                tree[name] = []
                for (inner, bytes) in self.tree(path + "/" + name) { tree[name + "/" + inner] = bytes }
            } else {
                // Of anything else than a file there may be no end, and of a link nothing of its own.
                tree[name] = information.st_mode & S_IFMT == S_IFREG ? contents(path + "/" + name) : []
            }
        }
        return tree
    }

    /// Writes bytes over those of a file.
    static func overwrite(_ path: String, at offset: Int, _ bytes: [UInt8]) throws {
        let descriptor = open(path, O_WRONLY | O_CLOEXEC)
        try #require(descriptor >= 0, "\(path): \(errno)")
        defer { close(descriptor) }
        #expect(pwrite(descriptor, bytes, bytes.count, off_t(offset)) == bytes.count)
    }
}
