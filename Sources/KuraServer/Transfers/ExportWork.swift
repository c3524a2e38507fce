import Glibc
import KuraBytes
import KuraProtocol
import KuraSocket
import KuraStorage
import KuraTransport
import SQLite

/// Writes a collection to a descriptor, a line a document: `{"id":…,"value":…}`, in the order of first writing.
///
/// It reads a slice in one snapshot, gives the snapshot up, writes the slice, and goes on by row: a client that reads
/// slowly holds nothing. So each slice is consistent in itself, no document comes twice or is left out, and one that
/// changes meanwhile comes as it was or as it is.
final class ExportWork: TransferWork, @unchecked Sendable {
    // Made on the loop, then the thread's alone, but for `folded`.

    private static let sliceBytes = 1 << 20

    let folded: FoldSignal
    private let collection: [UInt8]
    var need: (verbs: Verbs, collection: [UInt8]) { ([.list, .read], collection) }
    var isCancellable: Bool { true }
    private let end: TransferEnd
    private let configuration: StorageConfiguration
    private var walk: DocumentWalk?
    private var slice = ByteBuffer()
    private var exported = 0
    /// Documents whose attachments are not in the output.
    private var attachmentsLeftOut = 0
    /// Of these: documents of which one is damaged or gone.
    private var attachmentsDamaged = 0
    private let takesAttachments: Bool
    private let attachments: AttachmentExport?
    private var tables: TableReader?
    private var readFailure: EngineError?
    private var reportAt: UInt64

    /// `collection`: nil stands for one that does not exist.
    /// `takesAttachments`: they go along with their documents.
    init(_ collection: Bytes, to end: TransferEnd, takesAttachments: Bool, _ storage: isolated Storage) {
        self.takesAttachments = takesAttachments
        attachments = takesAttachments ? storage.attachmentExport(collection) : nil
        self.end = end
        self.collection = Array(collection)
        configuration = storage.configuration
        reportAt = storage.clock.monotonic + 500_000_000
        folded = FoldSignal()
        if !takesAttachments { attachmentsLeftOut = storage.documents.documentsWithAttachments(collection) }
        walk = storage.documents.walk(collection, in: .row) { [unowned self] in take($0) }
        folded.foldedTo = walk?.foldedTo ?? 0
    }

    func cancel() { folded.release(.cancelled) }

    func run(_ channel: TransferChannel) -> TransferOutcome {
        do throws(RPCError) {
            try write(channel)
        } catch { return TransferOutcome(answer: .error(error), rev: walk?.rev) }
        var text = ByteBuffer()
        text.openObject()
        text.append(.exported, exported)
        if attachmentsLeftOut > 0 { appendWarnings(to: &text) }
        return TransferOutcome(answer: .result(Array(text.bytes)), rev: walk?.rev)
    }

    private func appendWarnings(to text: inout ByteBuffer) {
        text.append(.attachmentsLeftOut, attachmentsLeftOut)
        var warnings: [String] = []
        if attachmentsDamaged > 0 {
            text.append(.attachmentsDamaged, attachmentsDamaged)
            warnings.append("attachments that are damaged or gone are not exported: 'kura doctor' says what to do")
        }
        if !takesAttachments {
            warnings.append("attachments are not exported without attachments: true")
        } else if attachmentsLeftOut > attachmentsDamaged {
            warnings.append(
                "attachments of more than 8 MiB a document are not exported: documents.attachment reads them")
        }
        text.openList(.warnings)
        for warning in warnings { text.append(element: warning) }
        text.closeList()
    }

    private func write(_ channel: TransferChannel) throws(RPCError) {
        let descriptor = try end.open(flags: O_WRONLY | O_CREAT | O_EXCL)
        if let error = folded.wait() { throw refusal(error) }
        if let walk {
            do throws(EngineError) {
                let tables = try TableReader(configuration) { channel.interruption.isInterrupted }
                self.tables = tables
                defer { self.tables = nil }
                while !walk.isAtEnd {
                    if let attachments {
                        _ = try attachments.keeping { () throws(EngineError) in try walk.step(tables) }
                    } else {
                        _ = try walk.step(tables)
                    }
                    if let readFailure { throw readFailure }
                    try send(to: descriptor, channel)
                }
            } catch { throw refusal(error) }
            // Its revision would say that what has come to be under the name since is there.
            guard !walk.isGone else {
                throw RPCError(.transferFailed, hint: "the collection was dropped meanwhile; begin anew")
            }
        }
        var information = stat()
        // Safety: the kernel fills one `stat`, which is ours.
        guard unsafe fstat(descriptor.number, &information) == 0, information.st_mode & S_IFMT == S_IFREG else {
            return
        }
        // Told to be written means on the disk, here too.
        guard fdatasync(descriptor.number) == 0 || errno == EINVAL || errno == EROFS else {
            throw RPCError(.transferFailed, hint: "the file could not be synced")
        }
    }

    private func take(_ document: DocumentWalk.Row) -> Bool {
        let attached = attachments(of: document.id)
        let bytes = attached.reduce(0) { $0 + $1.bytes }
        let fits = bytes <= AttachmentExport.byteLimit
        let length = document.value.count + (fits ? Base64.length(of: bytes) : 0)
        guard readFailure == nil, slice.isEmpty || slice.count + length < Self.sliceBytes else { return false }
        slice.openObject()
        slice.append(document: document.id, document.value, rev: nil)
        if !attached.isEmpty, !(fits && append(attached)) { attachmentsLeftOut += 1 }
        slice.append("}\n")
        exported += 1
        return true
    }

    private func attachments(of id: Bytes) -> [Attachment] {
        guard let attachments, let tables else { return [] }
        do throws(EngineError) { return try attachments.attachments(of: id, tables) } catch {
            readFailure = error
            return []
        }
    }

    /// - Returns: whether they are there.
    private func append(_ attached: [Attachment]) -> Bool {
        guard let attachments, let tables else { return true }
        do throws(EngineError) {
            let isThere = try attachments.append(attached, to: &slice, tables)
            if !isThere { attachmentsDamaged += 1 }
            return isThere
        } catch {
            readFailure = error
            return false
        }
    }

    private var writeFailure: RPCError?

    private func send(to descriptor: PassedDescriptor, _ channel: TransferChannel) throws(EngineError) {
        defer { slice.removeAll() }
        switch channel.interruption.write(descriptor.number, slice.bytes) {
        case .interrupted: throw .cancelled
        case .failed(let code):
            writeFailure = Self.failure(code)
            throw .cancelled
        case .bytes, .end: break
        }
        let time = configuration.clock.monotonic
        guard time >= reportAt, let walk else { return }
        reportAt = time + 500_000_000
        channel.report(
            TransferProgress(unit: .documents, done: exported, total: walk.count, imported: nil, rev: walk.rev))
    }

    private func refusal(_ error: EngineError) -> RPCError {
        if let writeFailure { return writeFailure }
        switch error {
        case .cancelled: return RPCError(.shuttingDown, hint: "the export was called off")
        case .noSpace: return RPCError(.overloaded, hint: "the disk is full, and the tables lag behind")
        case .conflict, .valueTooLarge, .quotaExceeded, .accountFull, .tooLargeForRoom, .cold, .busy, .duplicate,
            .overloaded, .unreadable, .interrupted:
            return RPCError(unreadable: error)
        }
    }

    /// Why a descriptor could not be written.
    static func failure(_ code: Int32) -> RPCError {
        switch code {
        case EPIPE, ECONNRESET: RPCError(.transferFailed, hint: "nobody reads the other end any more")
        case ENOSPC, EDQUOT, EFBIG: RPCError(.transferFailed, hint: "there is no room for the file")
        case EBADF: RPCError(.transferFailed, hint: "the descriptor is not open for writing")
        default: RPCError(.transferFailed, hint: "the descriptor could not be written")
        }
    }
}

/// A query that reads nothing: it tells a thread that the tables have what it must see.
final class FoldSignal: TableQuery, @unchecked Sendable {
    // `foldedTo` is set before it is submitted.
    var foldedTo: UInt64 = 0
    private let failure = Guarded<EngineError?>(nil)
    private let ready = Semaphore()

    func run(_ tables: TableReader) { release(nil) }

    var footprint: Int { 0 }
    func discard() {}

    func release(_ error: EngineError?) {
        if let error { failure.withLock { $0 = error } }
        ready.signal()
    }

    /// - Returns: why the wait is in vain.
    func wait() -> EngineError? {
        ready.wait()
        return failure.withLock { $0 }
    }
}
