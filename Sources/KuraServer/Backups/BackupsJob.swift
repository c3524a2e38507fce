import KuraBytes
import KuraProtocol
import KuraStorage
import KuraTransport

/// What is done with backups that are there, on a thread of its own.
final class BackupsJob: TransferWork, @unchecked Sendable {
    // Made on the loop, then the thread's alone.

    var need: (verbs: Verbs, collection: [UInt8]) { (.admin, []) }
    var store: Method.Store { .storage }
    var isCancellable: Bool { true }
    /// Gives the result object's text without its bracket.
    private let work: (TransferChannel) throws(BackupFault) -> [UInt8]

    init(_ work: @escaping (TransferChannel) throws(BackupFault) -> [UInt8]) {
        self.work = work
    }

    func cancel() {}

    func run(_ channel: TransferChannel) -> TransferOutcome {
        do throws(BackupFault) {
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
        let (manifest, bytes, digest) = try BackupRestore.verify(
            BackupDirectory.path(name, configuration), opener
        ) { channel.interruption.isInterrupted }
        var text = ByteBuffer()
        var object = ObjectWriter(&text)
        object.text("name", name, &text)
        object.number("bytes", bytes, &text)
        object.text("digest", digits(digest), &text)
        object.name("createdAt", &text)
        text.append(timestamp: manifest.createdAt)
        object.text("epoch", manifest.epoch, &text)
        object.number("backupRev", Int(manifest.rev), &text)
        append(manifest, to: &object, &text)
        return Array(text.bytes)
    }

    static func prune(
        _ names: [String]?, keeping keep: BackupDirectory.Keep, isDry: Bool, _ configuration: StorageConfiguration
    ) throws(BackupFault) -> [UInt8] {
        let all = try BackupDirectory.list(configuration)
        let going: [BackupDirectory.Entry]
        if let names {
            going = all.filter { names.contains($0.name) }
            guard going.count == Set(names).count else { throw .system(errno: 2, call: "unlink", path: "") }
        } else {
            going = BackupDirectory.superfluous(all, keep)
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
