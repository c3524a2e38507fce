import Glibc
import KuraBytes
import KuraProtocol
import KuraSocket
import KuraStorage
import KuraTransport

// Safety: Swift lends the path as a C string for the call.

/// What is done with backups that are there, on a thread of its own.
final class BackupsJob: TransferWork, @unchecked Sendable {
    // Made on the loop, then the thread's alone.

    var need: (verbs: Verbs, collection: [UInt8]) { (.backup, []) }
    var store: Method.Store { .storage }
    var isCancellable: Bool { true }
    /// Gives the result object's text without its bracket.
    private let work: (TransferChannel) throws(BackupFault) -> [UInt8]

    /// What the tables have to have first.
    private let folded: FoldSignal?

    init(folded: FoldSignal? = nil, _ work: @escaping (TransferChannel) throws(BackupFault) -> [UInt8]) {
        self.folded = folded
        self.work = work
    }

    func cancel() { folded?.release(.cancelled) }

    func run(_ channel: TransferChannel) -> TransferOutcome {
        do throws(BackupFault) {
            if let error = folded?.wait() { throw BackupFault(error) }
            return TransferOutcome(answer: .result(try work(channel)))
        } catch { return TransferOutcome(answer: .error(RPCError(backup: error))) }
    }

    static func list(_ configuration: StorageConfiguration) throws(BackupFault) -> [UInt8] {
        var text = ByteBuffer()
        text.openObject()
        text.openList(.backups)
        for entry in try BackupDirectory.list(configuration) {
            let (isEncrypted, manifest) = BackupDirectory.glance(entry.name, configuration)
            text.openObject()
            text.append(.name, entry.name)
            text.append(.bytes, entry.bytes)
            text.append(.createdAt, entry.createdAt)
            text.append(.scheduled, entry.isScheduled)
            text.append(.encrypted, isEncrypted)
            if let manifest {
                text.append(.epoch, manifest.epoch)
                text.append(.backupRev, manifest.rev)
            }
            text.closeObject()
        }
        text.closeList()
        return Array(text.bytes)
    }

    static func verify(
        _ name: String, _ opener: BackupOpener, _ configuration: StorageConfiguration, _ channel: TransferChannel
    ) throws(BackupFault) -> [UInt8] {
        let verified = try BackupRestore.verify(named: name, configuration, opener) {
            channel.interruption.isInterrupted
        }
        let manifest = verified.manifest
        var text = ByteBuffer()
        text.openObject()
        text.append(.name, name)
        text.append(.bytes, verified.bytes)
        text.append(.digest, digits(verified.digest))
        text.append(.origin, verified.origin.word)
        text.append(.createdAt, manifest.createdAt)
        text.append(.epoch, manifest.epoch)
        text.append(.backupRev, manifest.rev)
        append(manifest, to: &text)
        return Array(text.bytes)
    }

    static func prune(
        _ names: [String]?, keeping keep: BackupDirectory.Keep, sparing spared: Int64?, isDry: Bool,
        _ configuration: StorageConfiguration
    ) throws(BackupFault) -> [UInt8] {
        let all = try BackupDirectory.list(configuration)
        let going: [BackupDirectory.Entry]
        if let names {
            going = all.filter { names.contains($0.name) }
            guard going.count == Set(names).count else { throw .system(errno: 2, call: "unlink", path: "") }
        } else {
            going = BackupDirectory.superfluous(all, keep, sparing: spared, configuration)
        }
        if !isDry {
            for entry in going { try BackupDirectory.remove(entry.name, configuration) }
        }
        var text = ByteBuffer()
        text.openObject()
        text.openList(.removed)
        for entry in going { text.append(element: entry.name) }
        text.closeList()
        text.append(.bytes, going.reduce(0) { $0 + $1.bytes })
        text.append(.kept, all.count - going.count)
        return Array(text.bytes)
    }

    /// `target`: where the backup is.
    static func compare(
        _ comparison: BackupComparison, _ target: BackupTransfer.Target, _ opener: BackupOpener,
        _ configuration: StorageConfiguration, _ channel: TransferChannel
    ) throws(BackupFault) -> [UInt8] {
        let isCancelled: @Sendable () -> Bool = { channel.interruption.isInterrupted }
        let outcome: BackupComparison.Outcome
        switch target {
        case .file(let name):
            let path = BackupDirectory.path(name, configuration)
            let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
            guard descriptor >= 0 else { throw .system(errno: errno, call: "open", path: path) }
            defer { close(descriptor) }
            outcome = try comparison.run(descriptor, opener, isCancelled: isCancelled)
        case .descriptor(let end):
            let passed: PassedDescriptor
            do throws(RPCError) { passed = try end.open(flags: O_RDONLY | O_NONBLOCK) } catch {
                throw .system(errno: EBADF, call: "open", path: "")
            }
            outcome = try comparison.run(passed.number, opener, isCancelled: isCancelled)
        }
        var text = ByteBuffer()
        text.openObject()
        text.append(.epoch, outcome.manifest.epoch)
        text.append(.backupRev, outcome.manifest.rev)
        text.append(.origin, outcome.origin.word)
        text.append(.createdAt, outcome.manifest.createdAt)
        text.append(.same, outcome.same)
        append(outcome.counts, to: &text)
        text.append(.differing, outcome.differing)
        text.openList(.differences)
        for scope in outcome.scopes { append(scope, to: &text) }
        text.closeList()
        return Array(text.bytes)
    }

    private static func append(_ counts: BackupComparison.Counts, to text: inout ByteBuffer) {
        text.append(.added, counts.added)
        text.append(.changed, counts.changed)
        text.append(.removed, counts.removed)
    }

    private static func append(_ scope: BackupComparison.Scope, to text: inout ByteBuffer) {
        text.openObject()
        text.append(.store, scope.store)
        // Decoded, since a backup that somebody has passed may name anything.
        text.append(.scope, String(decoding: scope.name, as: UTF8.self))
        append(scope.counts, to: &text)
        text.openList(.examples)
        for example in scope.examples {
            text.openObject()
            text.append(.key, String(decoding: example.key, as: UTF8.self))
            text.append(.change, example.change.rawValue)
            text.closeObject()
        }
        text.closeList()
        text.closeObject()
    }

    // MARK: Parts of results

    static func digits(_ digest: [UInt8]) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: digest.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }

    /// What is in a backup, and what is not.
    static func append(_ manifest: BackupManifest, isBundle: Bool = false, to text: inout ByteBuffer) {
        text.openObject(.counts)
        for (name, count) in manifest.counts.named() where !isBundle || name != "secrets" {
            text.append(key: name, count)
        }
        if isBundle {
            text.append(.namespaces, manifest.namespaces)
            text.append(.models, manifest.models)
        }
        text.closeObject()
        text.openList(.leftOut)
        for item in manifest.leftOut {
            text.openObject()
            text.append(.store, item.store)
            if !item.scope.isEmpty { text.append(.scope, item.scope) }
            if !item.name.isEmpty { text.append(.name, item.name) }
            text.append(.count, item.count)
            text.append(.reason, item.reason.rawValue)
            text.closeObject()
        }
        text.closeList()
    }
}
