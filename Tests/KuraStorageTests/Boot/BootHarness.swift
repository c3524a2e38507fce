import Glibc
import KuraBytes
import SQLite
import Sodium
import Testing

@testable import KuraStorage

/// Starts over one data directory, as `Storage` makes them, without a loop and without caches.
final class BootHarness {
    let directory = TemporaryDirectory()
    var configuration: StorageConfiguration
    private(set) var reports: [String] = []
    private let lines = Guarded<[String]>([])
    /// What an operator reads.
    var report: String { lines.withLock { $0.joined(separator: "\n") } }

    // `data`: below the directory of the test when nil.
    init(data: String? = nil) throws {
        configuration = .tiny(data ?? directory.path + "/data")
        for path in [
            configuration.dataDirectory, configuration.logDirectory, configuration.durableDirectory,
            configuration.temporaryDirectory, configuration.attachmentsDirectory, configuration.cacheDirectory,
        ] { try FileSystem.makeDirectory(path) }
    }

    var tables: String { configuration.tablesPath }

    /// What `Storage.init` does, up to where the loop begins; `body` may change something, and then all is let go as a kill would.
    /// Throws: why the start fails, which it has noted then.
    @discardableResult
    func start<R>(serves: Bool = true, _ body: (Recovery, Boot) throws -> R) throws -> R {
        let housekeeper = try Housekeeper()
        defer { housekeeper.stop() }
        let boot = Boot(configuration) { [lines] line in lines.withLock { $0.append(line) } }
        let recovery: Recovery
        do throws(StorageFault) {
            try boot.begin()
            recovery = try Recovery.start(configuration, housekeeper: housekeeper, boot: boot) { [lines] line in
                lines.withLock { $0.append(line) }
            }
            try boot.confirm()
        } catch {
            boot.failed(error)
            throw error
        }
        _ = try AcknowledgedNote(
            configuration.acknowledgedPath, epoch: recovery.epoch, rev: recovery.ledger.rev)
        if serves { boot.serves() }
        let result = try body(recovery, boot)
        if serves { boot.ended() }
        return result
    }

    /// A start that has to fail.
    func fail() { #expect(throws: StorageFault.self) { try start { _, _ in } } }

    /// What the process leaves when it is killed in a phase.
    func die(in phase: BootPhase) throws {
        let boot = Boot(configuration) { _ in }
        try boot.begin()
        if phase == .serving, try AcknowledgedNote.read(configuration.acknowledgedPath) == nil {
            _ = try AcknowledgedNote(configuration.acknowledgedPath, epoch: "", rev: 0)
        }
        try boot.enter(phase)
    }

    /// What the handler of a trap leaves (`csys_trap`), which the next start finds.
    func noteTrap(at work: Work = .other) throws {
        var note = ByteBuffer()
        note.append(Array("KURATRAP".utf8))
        for number in [1, UInt32(SIGILL)] { note.append(littleEndian: number) }
        note.append(littleEndian: configuration.clock.wall)
        note.append(littleEndian: Int64(-1))
        note.append(littleEndian: UInt64(0))
        note.append(littleEndian: work.rawValue)
        note.append([UInt8](repeating: 0, count: 16))
        note.append(littleEndian: SegmentFormat.sum(note.bytes))
        // No start has read it; then what the structure is padded with.
        for number in [1, UInt32(0)] { note.append(littleEndian: number) }
        let file = try FileSystem.open(configuration.trapPath, O_RDWR | O_CREAT)
        defer { close(file) }
        try FileSystem.write(file, note.bytes, at: 0, path: configuration.trapPath)
    }

    /// What a start leaves that has met damage in a phase.
    func meetDamage(in phase: BootPhase) throws {
        let boot = Boot(configuration) { _ in }
        try boot.begin()
        try boot.enter(phase)
        boot.failed(.damaged("damage was met in phase \(phase.rawValue)"))
    }

    /// Writes keys, a commit each, into settings and documents.
    func put(_ recovery: Recovery, _ keys: Range<Int>, _ value: String = "1") throws {
        for key in keys {
            _ = try with("d", "\(key)", value) { (d, k, v) throws(EngineError) in
                try recovery.settings.put(d, k, v, ifRev: nil)
            }
            _ = try with("c", "\(key)", value) { (c, k, v) throws(DocumentsError) in
                try recovery.documents.put(c, k, v, isNewID: false, ifRev: nil)
            }
            guard case .committed = recovery.ledger.commit(to: recovery.log, syncedRev: SyncedRev(recovery.ledger.rev))
            else {
                Issue.record("not committed")
                return
            }
        }
    }

    func expect(_ recovery: Recovery, _ keys: Range<Int>, _ value: String = "1") throws {
        for key in keys {
            #expect(with("d", "\(key)") { recovery.settings.get($0, $1).item?.value.text } == value, "\(key)")
            let document = try with("c", "\(key)") { (c, k) throws(EngineError) in try recovery.documents.get(c, k) }
            #expect(document.item?.value.text == value, "\(key)")
        }
    }

    /// Folds everything that is in memory, as the fold thread would, and checkpoints it.
    func fold(_ recovery: Recovery) throws {
        let done = Semaphore()
        // Safety: nobody but the folder uses it until it has stopped.
        nonisolated(unsafe) let writer = recovery.writer
        let folder = try Folder(
            connection: writer, configuration: configuration, foldedRev: recovery.ledger.foldedRev, tends: false,
            wake: { done.signal() })
        defer { folder.stop() }
        guard let slice = recovery.ledger.cutSlice(syncedRev: SyncedRev(recovery.ledger.rev), log: recovery.log) else {
            return
        }
        folder.submit(slice)
        done.wait()
        while !recovery.ledger.settle(slice, budget: 100_000) {}
        folder.checkpoint()
        done.wait()
    }

    // MARK: Damage

    func damage(_ path: String, at offset: Int, bytes: [UInt8]) throws {
        let descriptor = try FileSystem.open(path, O_RDWR)
        defer { close(descriptor) }
        #expect(pwrite(descriptor, bytes, bytes.count, off_t(offset)) == bytes.count)
    }

    /// Makes a directory with what another one has.
    static func copy(_ from: String, to: String) throws {
        try FileSystem.makeDirectory(to)
        for name in try FileSystem.names(in: from) {
            let (from, to) = (from + "/" + name, to + "/" + name)
            if FileSystem.isDirectory(from) { try copy(from, to: to) } else { try FileSystem.copy(from, to: to) }
        }
    }

    /// Everything below a directory, with its bytes.
    static func contents(_ path: String) throws -> [String: [UInt8]] {
        var all: [String: [UInt8]] = [:]
        for name in try FileSystem.names(in: path) {
            let inner = path + "/" + name
            if FileSystem.isDirectory(inner) {
                for (key, value) in try contents(inner) { all[name + "/" + key] = value }
            } else {
                all[name] = try FileSystem.contents(inner, atMost: 1 << 26)
            }
        }
        return all
    }

    /// Sums of the tables' files, whose shared memory says nothing.
    func tablesFiles(_ directory: String) throws -> [String: [UInt8]] {
        try Self.contents(directory).filter { $0.key.hasPrefix("kura.sqlite") && !$0.key.hasSuffix("-shm") }
            .mapValues { bytes in
                var hash = GenericHash()
                bytes.lend { hash.update($0) }
                return hash.finish()
            }
    }

    var quarantined: [String] {
        (try? FileSystem.names(in: configuration.quarantineDirectory).sorted()) ?? []
    }
}
