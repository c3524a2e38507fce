import Glibc
import KuraBytes
import Sodium

@testable import KuraStorage

/// A keeper over a directory of its own, which the loop's part of the test plays.
struct KeyWorld {
    let directory = TemporaryDirectory()
    var sources = KeySourcesConfiguration()
    /// What hashing may take.
    static let memory = 32 << 20

    init() {
        sources.memory = { (Self.memory, .max) }
    }

    var keysPath: String { directory.path + "/keys" }
    var slotsPath: String { keysPath + "/slots.json" }
    var rootKeyPath: String { keysPath + "/root.key" }

    /// `seal`: the store's record, where there is one.
    func keeper(_ seal: StoreSeal = StoreSeal()) -> KeyKeeper {
        var configuration = StorageConfiguration.tiny(directory.path)
        configuration.keys = sources
        return KeyKeeper(configuration, seal: { seal }, wake: {}, report: { _ in })
    }

    /// The store's record as the ring seals it.
    static func seal(_ ring: KeyRing) throws -> StoreSeal {
        let sealer = try SecretSealer(ring)
        var row = ByteBuffer()
        sealer.seal(
            row: Bytes("record"), .store, scope: Bytes(SecretRecords.storeScope), key: Bytes(SecretRecords.key),
            to: &row)
        return StoreSeal(row: Array(row.bytes))
    }

    /// Has a job done, and taken in.
    static func run(_ job: KeyJob, _ keeper: KeyKeeper) -> KeyJob {
        do throws(KeysFault) { try keeper.submit(job, ticket: 1) } catch {
            job.fault = error
            return job
        }
        wait(for: job, keeper)
        return job
    }

    static func wait(for job: KeyJob, _ keeper: KeyKeeper) {
        while !job.isDone {
            _ = keeper.takeDone()
            usleep(500)
        }
    }

    /// Has a job done that is made of texts.
    @discardableResult
    static func perform(
        _ task: KeyJob.Task, _ passphrase: String? = nil, new: String? = nil, on keeper: KeyKeeper
    ) -> KeyJob {
        let old = passphrase.map { Array($0.utf8) } ?? []
        let fresh = new.map { Array($0.utf8) } ?? []
        let job = old.withBytes { old in
            fresh.withBytes { fresh in
                KeyJob(task, passphrase: passphrase == nil ? nil : old, newPassphrase: new == nil ? nil : fresh)
            }
        }
        return run(job, keeper)
    }

    static func contents(_ path: String) -> [UInt8] {
        guard let file = fopen(path, "re") else { return [] }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 1 << 16)
        let count = fread(&bytes, 1, bytes.count, file)
        return Array(bytes[..<count])
    }

    static func write(_ bytes: [UInt8], _ path: String, mode: mode_t = 0o600) {
        guard let file = fopen(path, "we") else { return }
        fchmod(fileno(file), mode)
        _ = bytes.withBytes { fwrite($0.baseAddress!, 1, $0.count, file) }
        fclose(file)
    }

    static func mode(_ path: String) -> mode_t {
        var information = stat()
        return stat(path, &information) == 0 ? information.st_mode & 0o7777 : 0
    }
}

extension SecretKey {
    var array: [UInt8] { withBytes { [UInt8]($0) } }
}

extension KeyRing {
    /// What some keys are, to compare them.
    func print(_ purposes: [KeyPurpose] = KeyPurpose.allCases) -> [[UInt8]] {
        purposes.map { (try? key($0))?.array ?? [] }
    }
}
