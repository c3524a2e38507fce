import Glibc
import KuraBytes
import Sodium
import Testing

@testable import KuraStorage

/// The file of a backup: what is taken, and what is refused.
@Suite struct BackupFormatTests {
    private final class MemorySink: BackupSink {
        var bytes: [UInt8] = []
        func write(_ bytes: Bytes) { self.bytes += Array(bytes) }
    }

    private let directory = TemporaryDirectory()
    private let identity = try! BoxKeyPair()

    private func file(_ locks: BackupLocks = BackupLocks(), records: Int = 3) throws -> [UInt8] {
        let sink = MemorySink()
        let writer = try BackupWriter(to: sink, locks)
        var manifest = BackupManifest()
        manifest.epoch = "e"
        manifest.rev = 7
        manifest.counts.add(.settings, records)
        manifest.leftOut = [
            .init(store: "documents", scope: Array("a\"b".utf8), name: Array("n".utf8), count: 2, reason: .marked)
        ]
        try writer.write(.beginning) { manifest.append(to: &$0) }
        for number in 0..<records {
            try with("scope", "key\(number)", "[\(number)]") { (scope, key, value) throws(BackupFault) in
                try writer.append(
                    BackupRecord(store: .settings, rev: UInt64(number % 7 + 1), scope: scope, key: key, value: value))
            }
        }
        try writer.write(.manifest) { manifest.append(to: &$0) }
        #expect(writer.bytesWritten == sink.bytes.count)
        return sink.bytes
    }

    private func check(_ bytes: [UInt8], _ opener: BackupOpener = BackupOpener()) throws(BackupFault) -> BackupManifest
    {
        let path = directory.path + "/file"
        let descriptor = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        defer { close(descriptor) }
        bytes.withBytes { try? FileSystem.write(descriptor, $0, at: 0, path: path) }
        let reader = try BackupReader(descriptor, path: path, opener)
        return try reader.verify()
    }

    private var opener: BackupOpener {
        var opener = BackupOpener()
        opener.identities = [identity]
        return opener
    }

    private var locks: BackupLocks {
        var locks = BackupLocks()
        locks.recipients = [identity.publicKey]
        return locks
    }

    @Test func `a whole file is taken, and its manifest comes back as it was`() throws {
        let manifest = try check(try file())
        #expect(manifest.rev == 7 && manifest.epoch == "e")
        #expect(manifest.leftOut.first?.scope == Array("a\"b".utf8))
        #expect(try check(try file(locks), opener) == manifest)
    }

    @Test func `numbers that no daemon writes are refused, though every digest fits`() throws {
        func file(rev: UInt64, row: UInt64, manifestRev: UInt64) throws -> [UInt8] {
            let sink = MemorySink()
            let writer = try BackupWriter(to: sink, BackupLocks())
            var manifest = BackupManifest()
            manifest.rev = manifestRev
            manifest.counts.add(.documents, 1)
            try writer.write(.beginning) { manifest.append(to: &$0) }
            try with("scope", "key", "1") { (scope, key, value) throws(BackupFault) in
                try writer.append(
                    BackupRecord(
                        store: .documents, rev: rev, version: 1, row: row, scope: scope, key: key, value: value))
            }
            try writer.write(.manifest) { manifest.append(to: &$0) }
            return sink.bytes
        }
        let most = RecordGuard.revs.upperBound
        let row = RecordGuard.rows.upperBound
        #expect(try check(file(rev: most, row: row, manifestRev: most)).rev == most)
        for (rev, row, words) in [
            (most + 1, 1, "its revision"), (1, row + 1, "its row"), (2, 1, "that of the file"), (0, 1, "its revision"),
        ] {
            #expect {
                try check(file(rev: rev, row: row, manifestRev: 1))
            } throws: { error in
                guard case .unfit(record: 1, let reason)? = error as? BackupFault else { return false }
                return reason.contains(words)
            }
        }
        #expect(throws: BackupFault.malformed) { try check(file(rev: 1, row: 1, manifestRev: most + 1)) }
    }

    @Test(arguments: [false, true]) func `cut off at any byte it is refused whole`(isEncrypted: Bool) throws {
        let bytes = try isEncrypted ? file(locks) : file()
        for count in 0..<bytes.count {
            #expect(throws: BackupFault.truncated, "\(count)") {
                try check(Array(bytes.prefix(count)), isEncrypted ? opener : BackupOpener())
            }
        }
        #expect(throws: BackupFault.trailing) { try check(bytes + [0], isEncrypted ? opener : BackupOpener()) }
    }

    @Test(arguments: [false, true]) func `with any byte altered it is refused`(isEncrypted: Bool) throws {
        let bytes = try isEncrypted ? file(locks) : file()
        for position in bytes.indices {
            var altered = bytes
            altered[position] ^= 0x40
            #expect(throws: BackupFault.self, "\(position)") {
                try check(altered, isEncrypted ? opener : BackupOpener())
            }
        }
    }

    @Test func `parts that change places, come twice or go are refused`() throws {
        // Each frame with its length in front; the records fill several.
        let bytes = try file(records: 20_000)
        var frames: [ArraySlice<UInt8>] = []
        var position = 48
        while position < bytes.count {
            let length = bytes[position..<position + 4].reversed().reduce(0) { $0 << 8 | Int($1) } + 4
            frames.append(bytes[position..<position + length])
            position += length
        }
        try #require(frames.count > 4)
        func assembled(_ order: [Int]) -> [UInt8] { Array(bytes[..<48]) + order.flatMap { frames[$0] } }
        let all = Array(frames.indices)
        #expect(try check(assembled(all)).rev == 7)
        var swapped = all
        swapped.swapAt(1, 2)
        for order in [swapped, all.filter { $0 != 1 }, [0, 1, 1] + all.dropFirst(2), [0] + all.suffix(1)] {
            #expect(throws: BackupFault.self) { try check(assembled(order)) }
        }
        #expect(throws: BackupFault.truncated) { try check(assembled(Array(all.dropLast()))) }
    }

    @Test func `other versions, other suites and other files are told apart`() throws {
        func altered(_ position: Int, _ value: UInt8) throws -> [UInt8] {
            var bytes = try file()
            bytes[position] = value
            return bytes
        }
        #expect(throws: BackupFault.notABackup) { try check(try altered(0, 0x6B)) }
        #expect(throws: BackupFault.unknownVersion(2)) { try check(try altered(8, 2)) }
        #expect(throws: BackupFault.unknownSuite(9)) { try check(try altered(10, 9)) }
        #expect(throws: BackupFault.damaged(frame: -1)) { try check(try altered(12, 0xFF)) }
    }

    @Test func `an encrypted one opens for its recipients and its passphrase, and for nobody else`() throws {
        var locks = locks
        let other = try BoxKeyPair()
        locks.recipients.append(other.publicKey)
        try Array("correct horse".utf8).withBytes { (text) throws(BackupFault) in
            try locks.lock(passphrase: text, memory: 8 << 20)
        }
        let bytes = try file(locks)
        for identity in [identity, other] {
            var opener = BackupOpener()
            opener.identities = [try BoxKeyPair(), identity]
            #expect(try check(bytes, opener).rev == 7)
        }
        var opener = BackupOpener()
        opener.passphrase = Array("correct horse".utf8)
        #expect(try check(bytes, opener).rev == 7)
        // A hash takes no more memory than there is.
        opener.memory = { (1 << 30, 6 << 20) }
        #expect(throws: BackupFault.outOfMemory) { try check(bytes, opener) }
        opener.memory = nil
        opener.passphrase = Array("correct horsf".utf8)
        #expect(throws: BackupFault.wrongKey) { try check(bytes, opener) }
        opener = BackupOpener()
        opener.identities = [try BoxKeyPair()]
        #expect(throws: BackupFault.wrongKey) { try check(bytes, opener) }
        #expect(throws: BackupFault.keyNeeded) { try check(bytes) }
        // Nothing of it stands there in clear.
        #expect(!String(decoding: bytes, as: UTF8.self).contains("scope"))
    }

    @Test func `a key that nothing can be sealed to is refused before anything is written`() throws {
        var locks = BackupLocks()
        locks.recipients = [[UInt8](repeating: 0, count: 32)]
        let sink = MemorySink()
        #expect(throws: BackupFault.unusableRecipient) { try BackupWriter(to: sink, locks) }
        #expect(sink.bytes.isEmpty)
    }

    @Test func `what claims to be longer than it is is refused, and takes no memory`() throws {
        var bytes = try file()
        // The length of the first frame.
        for position in 48..<52 { bytes[position] = 0xFF }
        #expect(throws: BackupFault.damaged(frame: 0)) { try check(bytes) }
    }
}
