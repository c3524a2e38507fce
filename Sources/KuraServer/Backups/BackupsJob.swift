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
            return TransferOutcome(answer: .result(try work(channel)), rev: 0)
        } catch { return TransferOutcome(answer: .error(RPCError(backup: error)), rev: 0) }
    }

    static func list(_ configuration: StorageConfiguration) throws(BackupFault) -> [UInt8] {
        var text = ByteBuffer()
        text.append("{\"backups\":[")
        for (position, entry) in try BackupDirectory.list(configuration).enumerated() {
            if position > 0 { text.append(",") }
            let (isEncrypted, manifest) = BackupDirectory.glance(entry.name, configuration)
            var object = ObjectWriter(&text)
            object.text("name", entry.name, &text)
            object.number("bytes", entry.bytes, &text)
            object.name("createdAt", &text)
            text.append(timestamp: entry.createdAt)
            object.boolean("scheduled", entry.isScheduled, &text)
            object.boolean("encrypted", isEncrypted, &text)
            if let manifest {
                object.text("epoch", manifest.epoch, &text)
                object.number("backupRev", Int(manifest.rev), &text)
            }
            text.append("}")
        }
        text.append("]")
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
        var object = ObjectWriter(&text)
        object.text("name", name, &text)
        object.number("bytes", verified.bytes, &text)
        object.text("digest", digits(verified.digest), &text)
        object.text("origin", verified.origin.word, &text)
        object.name("createdAt", &text)
        text.append(timestamp: manifest.createdAt)
        object.text("epoch", manifest.epoch, &text)
        object.number("backupRev", Int(manifest.rev), &text)
        append(manifest, to: &object, &text)
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
        text.append("{\"removed\":[")
        for (position, entry) in going.enumerated() {
            if position > 0 { text.append(",") }
            entry.name.withBytes { text.append(quoted: $0) }
        }
        text.append("],\"bytes\":")
        text.append(integer: Int64(going.reduce(0) { $0 + $1.bytes }))
        text.append(",\"kept\":")
        text.append(integer: Int64(all.count - going.count))
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
        var object = ObjectWriter(&text)
        object.text("epoch", outcome.manifest.epoch, &text)
        object.number("backupRev", Int(outcome.manifest.rev), &text)
        object.text("origin", outcome.origin.word, &text)
        object.name("createdAt", &text)
        text.append(timestamp: outcome.manifest.createdAt)
        object.number("same", outcome.same, &text)
        append(outcome.counts, to: &object, &text)
        object.number("differing", outcome.differing, &text)
        object.name("differences", &text)
        text.append("[")
        for (position, scope) in outcome.scopes.enumerated() {
            if position > 0 { text.append(",") }
            append(scope, &text)
        }
        text.append("]")
        return Array(text.bytes)
    }

    private static func append(
        _ counts: BackupComparison.Counts, to object: inout ObjectWriter, _ text: inout ByteBuffer
    ) {
        object.number("added", counts.added, &text)
        object.number("changed", counts.changed, &text)
        object.number("removed", counts.removed, &text)
    }

    private static func append(_ scope: BackupComparison.Scope, _ text: inout ByteBuffer) {
        var object = ObjectWriter(&text)
        object.text("store", scope.store, &text)
        // Decoded, since a backup that somebody has passed may name anything.
        object.text("scope", String(decoding: scope.name, as: UTF8.self), &text)
        append(scope.counts, to: &object, &text)
        object.name("examples", &text)
        text.append("[")
        for (position, example) in scope.examples.enumerated() {
            if position > 0 { text.append(",") }
            var inner = ObjectWriter(&text)
            inner.text("key", String(decoding: example.key, as: UTF8.self), &text)
            inner.text("change", example.change.rawValue, &text)
            text.append("}")
        }
        text.append("]}")
    }

    // MARK: Parts of results

    static func digits(_ digest: [UInt8]) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: digest.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }

    /// What is in a backup, and what is not.
    static func append(
        _ manifest: BackupManifest, isBundle: Bool = false, to object: inout ObjectWriter, _ text: inout ByteBuffer
    ) {
        object.name("counts", &text)
        var counts = ObjectWriter(&text)
        for (name, count) in manifest.counts.named where !isBundle || name != "secrets" {
            counts.number(name, count, &text)
        }
        if isBundle {
            counts.number("namespaces", manifest.namespaces, &text)
            counts.number("models", manifest.models, &text)
        }
        text.append("}")
        object.name("leftOut", &text)
        text.append("[")
        for (position, item) in manifest.leftOut.enumerated() {
            if position > 0 { text.append(",") }
            var inner = ObjectWriter(&text)
            inner.text("store", item.store, &text)
            if !item.scope.isEmpty {
                inner.name("scope", &text)
                item.scope.withBytes { text.append(quoted: $0) }
            }
            if !item.name.isEmpty {
                inner.name("name", &text)
                item.name.withBytes { text.append(quoted: $0) }
            }
            inner.number("count", item.count, &text)
            inner.text("reason", item.reason.rawValue, &text)
            text.append("}")
        }
        text.append("]")
    }
}
