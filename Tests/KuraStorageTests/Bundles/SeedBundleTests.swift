import Glibc
import KuraBytes
import SQLite
import Testing

@testable import KuraStorage

/// The file of a seed bundle: what is taken, and what is refused.
@Suite struct SeedBundleTests {
    private final class MemorySink: BackupSink {
        var bytes: [UInt8] = []
        func write(_ bytes: Bytes) { self.bytes += Array(bytes) }
    }

    private let directory = TemporaryDirectory()

    private func bundle(
        schema: Int = 1, kind: BackupFormat.Kind = .bundle, _ body: (BackupWriter) throws -> Void = { _ in }
    ) throws -> String {
        let sink = MemorySink()
        let writer = try BackupWriter(to: sink, BackupLocks(), kind: kind)
        var manifest = BackupManifest()
        (manifest.epoch, manifest.rev, manifest.schema) = ("e", 7, schema)
        try writer.write(.beginning) { manifest.append(to: &$0) }
        try body(writer)
        try writer.write(.manifest) { manifest.append(to: &$0) }
        let path = directory.path + "/file"
        let descriptor = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        defer { close(descriptor) }
        try sink.bytes.withBytes { try FileSystem.write(descriptor, $0, at: 0, path: path) }
        return path
    }

    @Test func `what is laid out for a later version is refused, and named`() throws {
        let known = Int(Tables.migrator.newestVersion)
        #expect(try SeedBundle(bundle(schema: known)).manifest.schema == known)
        #expect(throws: BackupFault.newerSchema(found: known + 1, known: known)) {
            try SeedBundle(bundle(schema: known + 1))
        }
        let backup = try bundle(schema: known + 1, kind: .backup)
        #expect(throws: BackupFault.newerSchema(found: known + 1, known: known)) { try BackupRestore.verify(backup) }
    }

    @Test func `secrets are refused in a bundle, and models in a backup`() throws {
        let reason = "(secrets/s) is not what a daemon writes: secrets have no place in a seed bundle"
        #expect(throws: BackupFault.unfit(record: 1, reason: reason)) {
            try SeedBundle(
                bundle { writer in
                    try with("s", "k", "v") { (scope, key, value) throws(BackupFault) in
                        try writer.append(BackupRecord(store: .secrets, rev: 1, scope: scope, key: key, value: value))
                    }
                })
        }
        let backup = try bundle(kind: .backup) { writer in
            try writer.write(.models) { buffer in
                with("n", "s1") { BundleModel.namespace(name: $0, configuration: $1).append(to: &buffer) }
            }
        }
        #expect(throws: BackupFault.malformed) { try BackupRestore.verify(backup) }
    }

    @Test func `entries come back as they were written, and any part of them is refused`() throws {
        var buffer = ByteBuffer()
        with("name", "t60") { BundleModel.namespace(name: $0, configuration: $1).append(to: &buffer) }
        with("key", "etag", "value") { (key, etag, value) in
            let entry = BundleModel.Entry(storedAt: -5, key: key, etag: etag, tags: etag, value: value)
            BundleModel.entry(entry).append(to: &buffer)
        }
        var position = 0
        guard case .namespace(let name, let text)? = try BundleModel.next(in: buffer.bytes, at: &position) else {
            Issue.record("no namespace")
            return
        }
        #expect(name.equals("name") && text.equals("t60"))
        guard case .entry(let entry)? = try BundleModel.next(in: buffer.bytes, at: &position) else {
            Issue.record("no entry")
            return
        }
        #expect(entry.storedAt == -5 && entry.key.equals("key") && entry.etag.equals("etag"))
        #expect(entry.tags.equals("etag") && entry.value.equals("value"))
        #expect(try BundleModel.next(in: buffer.bytes, at: &position) == nil)
        // The second record begins at 14.
        for end in 1..<buffer.count where end != 14 {
            #expect(throws: BackupFault.malformed, "\(end)") {
                var position = 0
                while try BundleModel.next(in: buffer.bytes(0..<end), at: &position) != nil {}
            }
        }
        // A key of no bytes, and lengths that add up to more than there is.
        for (offset, byte) in [(14 + 4 + 9, UInt8(0)), (14 + 4 + 9, 0xFF), (4 + 1, 0), (4 + 1, 0xFF)] {
            var altered = Array(buffer.bytes)
            altered[offset] = byte
            #expect(throws: BackupFault.malformed, "\(offset)") {
                try altered.withBytes { (bytes) throws(BackupFault) in
                    var position = 0
                    while try BundleModel.next(in: bytes, at: &position) != nil {}
                }
            }
        }
    }
}
