import Glibc
import KuraBytes
import Testing

@testable import KuraStorage

/// Backups and seed bundles that say anything, with digests that fit: refused with the record's number and reason, and nothing is left;
/// or restored, and then served as if a daemon had written them.
///
/// `KURA_HOSTILE`: how many of each are tried, of all that there are; 300 when nobody says. `SEED` repeats the choice.
@Suite struct HostileFileTests {
    private static let count = getenv("KURA_HOSTILE").flatMap { Int(String(cString: $0)) } ?? 300
    private static let seed = getenv("SEED").flatMap { UInt64(String(cString: $0)) } ?? UInt64.random(in: 0...1 << 32)
    /// Of those that are restored, so many are served.
    private static let served = count / 25

    private let directory = TemporaryDirectory(prefix: "kura-hostile")

    private struct Counts {
        var unfit = 0
        var otherwise = 0
        var restored = 0
        var served = 0
    }

    private func write(_ bytes: [UInt8], to path: String) throws {
        let descriptor = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        defer { close(descriptor) }
        try bytes.withBytes { try FileSystem.write(descriptor, $0, at: 0, path: path) }
    }

    /// Tries a sample. `restore`: makes a data directory of a file; `start`: has a daemon begin with it.
    private func run(
        _ original: [UInt8], _ kind: String, restore: (String, String) throws -> Void,
        start: (TemporaryDaemon, String) throws -> Void
    ) throws {
        let file = try HostileFile(original)
        #expect(file.bytes.count > 0)
        let all = HostileExtremes(file).changes
        var random = SplitMix(state: Self.seed)
        let sample = all.shuffled(using: &random).prefix(Self.count)
        var counts = Counts()
        let (path, target) = (directory.path + "/file", directory.path + "/target")
        // As it is it passes, taken apart and put together again.
        for change in [HostileChange(name: "none", record: nil, file: file)] + sample {
            try write(change.file.bytes, to: path)
            do {
                try restore(path, target)
            } catch let fault as BackupFault {
                #expect(change.name != "none", "\(fault)")
                #expect(TemporaryDaemon.names(directory.path) == ["file"], "\(change.name), SEED=\(Self.seed)")
                guard case .unfit(let record, let reason) = fault else {
                    counts.otherwise += 1
                    continue
                }
                counts.unfit += 1
                // A document that goes leaves its list behind, which is at fault then.
                let isStray = reason.contains("of a document that is not there")
                #expect(change.record == nil || change.record == record || isStray, "\(change.name): \(fault)")
                #expect(!reason.utf8.contains { $0 < 0x20 }, "\(change.name)")
                continue
            }
            counts.restored += 1
            TemporaryDaemon.remove(target)
            guard counts.served < Self.served || change.name == "none" else { continue }
            counts.served += 1
            let daemon = try TemporaryDaemon(starts: false)
            try start(daemon, path)
            let problem = try HostileService(daemon: daemon).problem()
            #expect(problem == nil, "\(change.name), SEED=\(Self.seed)")
        }
        print(
            "hostile \(kind): \(sample.count) of \(all.count) tried, \(counts.unfit) unfit, \(counts.otherwise) refused "
                + "otherwise, \(counts.restored) restored, \(counts.served) of them served; SEED=\(Self.seed)")
        #expect(counts.unfit > sample.count / 3)
    }

    @Test func `a hostile backup is refused with the record's number, or restored and served`() throws {
        try run(try HostileWorld.made.get().backup, "backups") { file, target in
            _ = try BackupRestore.restore(file, into: target)
        } start: { daemon, file in
            try BackupRestore.restore(file, into: daemon.data)
            try daemon.start()
        }
    }

    @Test func `a hostile bundle is refused with the record's number, or laid down and served`() throws {
        try run(try HostileWorld.made.get().bundle, "bundles") { file, target in
            do { _ = try BackupRestore.restore(SeedBundle(file), into: target) } catch {
                // Its caller takes it away.
                FileTree.remove(target)
                throw error
            }
        } start: { daemon, file in
            try daemon.start(more: ["--seed-bundle", file])
        }
    }
}
