import Glibc
import KuraSocket
import Testing

@Suite struct SocketDirectoryTests {
    /// What a user is told of a directory with this mode and, where this process is root, this owner.
    private static func objection(mode: UInt32, owner: UInt32? = nil, from user: UInt32) throws -> String? {
        var template = Array("/tmp/kura-directory-XXXXXX".utf8CString)
        try #require(mkdtemp(&template) != nil)
        let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        defer { rmdir(path) }
        try #require(chmod(path, mode) == 0 && (owner == nil || chown(path, owner!, 0) == 0))
        return try #require(SocketDirectory(of: path + "/kura.sock")).objection(from: user).map {
            $0.split(separator: path, omittingEmptySubsequences: false).joined(separator: "DIRECTORY")
        }
    }

    @Test func `one's own directory is taken unless others write there`() throws {
        let own = geteuid()
        for mode: UInt32 in [0o700, 0o711, 0o755] { #expect(try Self.objection(mode: mode, from: own) == nil) }
        for mode: UInt32 in [0o770, 0o702, 0o1777, 0o2770] {
            #expect(
                try Self.objection(mode: mode, from: own)
                    == "DIRECTORY may be written by others (mode \(String(mode, radix: 8)))")
        }
    }

    @Test(.enabled(if: geteuid() == 0))
    func `a directory is taken when it is root's, and not when it is somebody else's`() throws {
        #expect(try Self.objection(mode: 0o755, owner: 0, from: 4242) == nil)
        #expect(
            try Self.objection(mode: 0o755, owner: 65_534, from: 4242)
                == "DIRECTORY belongs to user 65534, and user 4242 or root is expected")
        // Below /run root alone makes directories, and gives them to the daemon's user.
        #expect(try Self.objection(mode: 0o755, owner: 65_534, from: 0) == nil)
        #expect(try Self.objection(mode: 0o775, owner: 65_534, from: 0) != nil)
    }

    @Test func `a link and another kind of file are no directory, and of an absent one nothing is said`() throws {
        let link = "/tmp/kura-link-\(getpid())-\(UInt32.random(in: 0 ... .max))"
        try #require(symlink("/usr", link) == 0)
        defer { unlink(link) }
        for path in [link, "/dev/null"] {
            let directory = try #require(SocketDirectory(of: path + "/kura.sock"))
            #expect(directory.objection(from: 0) == "\(path) is no directory, but a link or another kind of file")
        }
        #expect(SocketDirectory(of: link + "-absent/kura.sock") == nil && SocketDirectory(of: "kura.sock") == nil)
    }
}
