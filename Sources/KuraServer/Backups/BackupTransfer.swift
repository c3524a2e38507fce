import Glibc
import KuraBytes
import KuraProtocol
import KuraSocket
import KuraStorage
import KuraTransport
import SQLite

/// Makes a backup for `storage.backup`, on a thread of its own.
final class BackupTransfer: TransferWork, @unchecked Sendable {
    // Made on the loop, then the thread's alone, but for `folded`.

    enum Target {
        /// A file of DATA/backups.
        case file(String)
        case descriptor(TransferEnd)
    }

    let folded = FoldSignal()
    var need: (verbs: Verbs, collection: [UInt8]) { (.backup, []) }
    var store: Method.Store { .storage }
    var isCancellable: Bool { true }
    /// It is encrypted to a key of the request's own, and has the root key in it.
    private let hasRootKey: Bool
    private let run: BackupRun
    private let request: BackupRequest
    private let target: Target
    private var passphrase: [UInt8]
    private let configuration: StorageConfiguration
    private var reportAt: UInt64

    init(
        _ run: BackupRun, _ request: BackupRequest, to target: Target, passphrase: [UInt8],
        _ configuration: StorageConfiguration
    ) {
        self.run = run
        self.request = request
        self.target = target
        self.passphrase = passphrase
        self.configuration = configuration
        reportAt = configuration.clock.monotonic + 500_000_000
        hasRootKey = request.selection.hasSecrets && !(request.locks.recipients.isEmpty && passphrase.isEmpty)
        folded.foldedTo = run.foldedTo
    }

    func mayGoOn(_ permissions: Permissions) -> Bool {
        permissions.verbs(onWhole: .storage).contains(.backup)
            && (!hasRootKey || permissions.missingForRootKey == nil)
            && permissions.missing(forModelsOf: request.selection) == nil
    }

    func cancel() { folded.release(.cancelled) }

    func run(_ channel: TransferChannel) -> TransferOutcome {
        do throws(RPCError) {
            let (summary, isVerified) = try make(channel)
            var text = ByteBuffer()
            text.openObject()
            if case .file(let name) = target { text.append(.name, name) }
            text.append(.bytes, summary.bytes)
            text.append(.digest, BackupsJob.digits(summary.digest))
            if !request.isBundle { text.append(.encrypted, summary.isEncrypted) }
            text.append(.verified, isVerified)
            BackupsJob.append(summary.manifest, isBundle: request.isBundle, to: &text)
            return TransferOutcome(answer: .result(Array(text.bytes)), rev: summary.manifest.rev)
        } catch { return TransferOutcome(answer: .error(error)) }
    }

    private func make(_ channel: TransferChannel) throws(RPCError) -> (BackupSummary, isVerified: Bool) {
        var request = request
        if !passphrase.isEmpty {
            // What is hashed to a key is not kept as text.
            defer { passphrase.resetBytes() }
            do throws(BackupFault) {
                let memory = configuration.keys.memory()
                try passphrase.withBytes { (text) throws(BackupFault) in
                    try request.locks.lock(passphrase: text, memory: min(memory.limit, memory.free) / 2)
                }
            } catch { throw RPCError(backup: error) }
        }
        if let error = folded.wait() {
            throw error == .noSpace
                ? RPCError(.overloaded, hint: "the disk is full, and the tables lag behind")
                : RPCError(backup: BackupFault(error))
        }
        switch target {
        case .file(let name): return try write(name, request.locks, channel)
        case .descriptor(let end): return try write(end, request.locks, channel)
        }
    }

    private func write(
        _ name: String, _ locks: BackupLocks, _ channel: TransferChannel
    ) throws(RPCError) -> (BackupSummary, isVerified: Bool) {
        do throws(BackupFault) {
            return (try run.write(name, locks, { channel.interruption.isInterrupted }, progress(channel)), true)
        } catch {
            if case .system(ENOENT, _, _) = error {
                throw RPCError(.transferFailed, hint: "the data directory is gone, or its backups/ cannot be written")
            }
            throw RPCError(backup: error)
        }
    }

    private func write(
        _ end: TransferEnd, _ locks: BackupLocks, _ channel: TransferChannel
    ) throws(RPCError) -> (BackupSummary, isVerified: Bool) {
        let descriptor = try end.open(flags: O_WRONLY)
        let sink = DescriptorSink(descriptor, channel)
        let isCancelled: @Sendable () -> Bool = { channel.interruption.isInterrupted }
        do throws(BackupFault) {
            let summary = try run.run(to: sink, locks, isCancelled: isCancelled, progress: progress(channel))
            return (summary, try sink.finish(summary, isCancelled))
        } catch { throw sink.failure ?? RPCError(backup: error) }
    }

    private func progress(_ channel: TransferChannel) -> (Int) -> Void {
        { [self] done in
            let time = configuration.clock.monotonic
            guard time >= reportAt else { return }
            reportAt = time + 500_000_000
            channel.report(
                TransferProgress(
                    unit: .items, done: done, total: max(done, run.total), imported: nil, rev: run.foldedTo))
        }
    }
}

/// Writes a backup to what a client has passed.
private final class DescriptorSink: BackupSink {
    private let descriptor: PassedDescriptor
    private let channel: TransferChannel
    private let start: off_t
    /// What the client is told when it could not be written.
    private(set) var failure: RPCError?

    init(_ descriptor: PassedDescriptor, _ channel: TransferChannel) {
        self.descriptor = descriptor
        self.channel = channel
        start = lseek(descriptor.number, 0, SEEK_CUR)
    }

    func write(_ bytes: Bytes) throws(BackupFault) {
        switch channel.interruption.write(descriptor.number, bytes) {
        case .interrupted: throw .cancelled
        case .failed(let code):
            failure = ExportWork.failure(code)
            throw .cancelled
        case .bytes, .end: break
        }
    }

    /// Has a file on the disk, and reads it back where that may be done.
    /// - Returns: whether it was read.
    func finish(_ summary: BackupSummary, _ isCancelled: () -> Bool) throws(BackupFault) -> Bool {
        var information = stat()
        // Safety: the kernel fills one `stat`, which is ours.
        guard unsafe fstat(descriptor.number, &information) == 0, information.st_mode & S_IFMT == S_IFREG else {
            return false
        }
        guard fdatasync(descriptor.number) == 0 || errno == EINVAL || errno == EROFS else {
            failure = RPCError(.transferFailed, hint: "the file could not be synced")
            throw .cancelled
        }
        guard start == 0, Int(information.st_size) == summary.bytes,
            fcntl(descriptor.number, F_GETFL) & O_ACCMODE == O_RDWR
        else {
            return false
        }
        guard try summary.isWhole(in: descriptor.number, isCancelled: isCancelled) else {
            failure = RPCError(.transferFailed, hint: "what was written is not what the file has")
            throw .cancelled
        }
        return true
    }
}

extension [UInt8] {
    /// Overwrites every byte.
    fileprivate mutating func resetBytes() {
        for index in indices { self[index] = 0 }
        self = []
    }
}
