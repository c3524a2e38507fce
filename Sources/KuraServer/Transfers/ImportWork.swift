import Glibc
import KuraBytes
import KuraProtocol
import KuraSocket
import KuraStorage
import KuraTransport
import SQLite

/// Reads a descriptor to its end and has its records stored, batch by batch, in their order.
final class ImportWork: TransferWork, BatchSource, @unchecked Sendable {
    // Made on the loop, then the thread's alone; `collection` never changes.

    /// How a request wants its input read.
    struct Options {
        var idField: [UInt8]?
        var format: RecordSplitter.Format?
        var skipsBadRecords = false
        /// Bytes of the input to pass over.
        var offset = 0
        /// Takes in what records bring; nil: they bring none.
        var attachments: AttachmentImport?
    }

    /// Bytes of a record: a document of the largest size with its id around it.
    static let recordLimit = DocumentsStore.valueLimit + 4096
    /// The same with its attachments.
    static let attachedLimit = recordLimit + Base64.length(of: AttachmentExport.byteLimit) + 256 << 10
    /// Bad records that are told one by one; the others are counted.
    static let errorLimit = 100
    private static let chunk = 256 << 10

    let collection: [UInt8]
    var need: (verbs: Verbs, collection: [UInt8]) { ([.create, .update], collection) }
    var isCancellable: Bool { true }
    private let end: TransferEnd
    private let options: Options
    private let configuration: StorageConfiguration
    private let reader: RecordReader
    private var batch = ImportBatch()
    private var skipped = 0
    private var errors: [(line: Int, text: String)] = []
    private var total: Int?
    /// A record that was not stored, for which it ends.
    private var refusal: RPCError?
    private var reportAt: UInt64
    private var tables: TableReader?

    init(_ collection: [UInt8], from end: TransferEnd, _ options: Options, _ configuration: StorageConfiguration) {
        self.collection = collection
        self.end = end
        self.options = options
        self.configuration = configuration
        reportAt = configuration.clock.monotonic + 500_000_000
        reader = RecordReader(idField: options.idField, takesAttachments: options.attachments != nil)
        batch.end = options.offset
    }

    func cancel() {}

    func run(_ channel: TransferChannel) -> TransferOutcome {
        var refusal: RPCError?
        do throws(RPCError) { try transfer(channel) } catch { refusal = error }
        // What came before a failure is stored, and the answer shows it.
        do throws(TransferStop) { try hand(channel) } catch { refusal = refusal ?? self.refusal(error) }
        do throws(TransferStop) {
            try channel.settle(self)
        } catch { refusal = refusal ?? self.refusal(error) }
        refusal = self.refusal ?? refusal
        let stored = channel.stored
        let rev = stored.rev > 0 ? stored.rev : nil
        if var refusal {
            refusal.offset = refusal.offset ?? stored.end ?? options.offset
            return TransferOutcome(answer: .error(refusal), rev: rev)
        }
        return TransferOutcome(answer: .result(result(stored)), rev: rev)
    }

    // MARK: Reading

    private func transfer(_ channel: TransferChannel) throws(RPCError) {
        let descriptor = try end.open(flags: O_RDONLY | O_NONBLOCK)
        measure(descriptor.number)
        try passOver(descriptor.number, channel)
        var splitter = RecordSplitter(
            limit: options.attachments == nil ? Self.recordLimit : Self.attachedLimit, format: options.format,
            offset: options.offset)
        let oversize = RecordFault(
            message: options.attachments == nil ? "longer than 8 MiB" : "longer than 8 MiB and as much of attachments")
        while true {
            switch splitter.next() {
            case .needsMore:
                // Its end may never come.
                if !options.skipsBadRecords, let record = splitter.oversized {
                    try skip(record, oversize.text, oversize, channel)
                }
                let outcome = splitter.fill(upTo: Self.chunk) {
                    channel.interruption.read(descriptor.number, atMost: Self.chunk, into: &$0)
                }
                switch outcome {
                case .bytes: break
                case .end: splitter.finish()
                case .interrupted: throw refusal(.cancelled)
                case .failed(let code): throw Self.failure(code)
                }
                channel.hold(splitter.heldBytes)
                report(channel)
            case .record(let record):
                do throws(RecordFault) {
                    let attachments = try reader.read(
                        splitter.bytes(of: record), into: batch, now: configuration.clock.wall)
                    if let attachments { try takeIn(attachments) }
                } catch {
                    try skip(record, error.text, error, channel)
                    continue
                }
                try admit(record, channel)
            case .oversize(let record):
                try skip(record, oversize.text, oversize, channel)
            case .malformed(let place):
                let fault = RecordFault(message: "the array has no end, a comma too many, or something behind it")
                try skip(place, fault.text, fault, channel)
            case .end:
                batch.end = max(batch.end, splitter.inputEnd)
                return
            }
        }
    }

    /// Gives the contents of the last document's attachments their places.
    private func takeIn(_ attachments: [RecordAttachment]) throws(RecordFault) {
        guard let source = options.attachments else { return }
        var staged: [StagedAttachment] = []
        do throws(ContentFault) {
            if tables == nil {
                do throws(EngineError) { tables = try TableReader(configuration) } catch {
                    throw ContentFault.failed
                }
            }
            for one in attachments {
                staged.append(
                    try source.take(name: one.name, contentType: one.contentType, data: one.data, tables!))
            }
        } catch {
            batch.remove(batch.count - 1)
            switch error {
            case .badBase64: throw RecordFault(message: "the data of an attachment is no base64 with padding")
            case .noSpace: throw RecordFault(message: "no space on the disk for an attachment")
            case .want: throw RecordFault(message: "too many files are open for an attachment, or memory is short")
            default: throw RecordFault(message: "an attachment could not be written")
            }
        }
        batch.attachLast(staged)
    }

    /// Notes how long the input is, when it is a file.
    private func measure(_ descriptor: Int32) {
        var information = stat()
        // Safety: the kernel fills one `stat`, which is ours.
        guard unsafe fstat(descriptor, &information) == 0, information.st_mode & S_IFMT == S_IFREG else { return }
        total = Int(information.st_size) - max(0, Int(lseek(descriptor, 0, SEEK_CUR)))
    }

    /// Passes over the bytes that an earlier import has taken.
    private func passOver(_ descriptor: Int32, _ channel: TransferChannel) throws(RPCError) {
        guard options.offset > 0 else { return }
        if total != nil, lseek(descriptor, off_t(options.offset), SEEK_CUR) >= 0 { return }
        var left = options.offset
        var passed = ByteBuffer()
        while left > 0 {
            passed.removeAll()
            switch channel.interruption.read(descriptor, atMost: min(left, Self.chunk), into: &passed) {
            case .bytes(let count): left -= count
            case .end: return
            case .interrupted: throw refusal(.cancelled)
            case .failed(let code): throw Self.failure(code)
            }
        }
    }

    // MARK: Batches

    /// Counts the last document in, and hands the batch over when it is full, or has a document of that id.
    private func admit(_ record: RecordSplitter.Record, _ channel: TransferChannel) throws(RPCError) {
        batch.placeLast(line: record.line, offset: record.offset)
        do throws(TransferStop) {
            if !batch.admitLast() {
                let rest = batch.splitLast()
                try hand(channel)
                batch = rest
            }
            batch.end = record.end
            if batch.isFull { try hand(channel) }
        } catch { throw refusal(error) }
    }

    private func hand(_ channel: TransferChannel) throws(TransferStop) {
        if hasEnded { throw .cancelled }
        guard batch.count > 0 else { return }
        let full = batch
        batch = ImportBatch()
        batch.end = full.end
        try channel.hand(full, from: self)
    }

    var hasEnded: Bool { refusal != nil }

    func refuse(_ position: Int, _ fault: RecordFault, of batch: ImportBatch) -> Bool {
        let (line, offset) = batch.place(of: position)
        guard options.skipsBadRecords else {
            var refusal = RPCError(.badRecord, hint: fault.message)
            refusal.line = line
            refusal.offset = offset
            self.refusal = refusal
            batch.cut(at: position)
            return false
        }
        skipped += 1
        if errors.count < Self.errorLimit { errors.append((line, fault.text)) }
        batch.remove(position)
        return true
    }

    func warm(_ look: ColdLook) {
        // A failure is no answer: the loop's own look-up meets it again.
        if tables == nil { tables = try? TableReader(configuration) }
        try? tables?.warm(look)
    }

    private func skip(
        _ record: RecordSplitter.Record, _ text: String, _ fault: RecordFault, _ channel: TransferChannel
    ) throws(RPCError) {
        guard options.skipsBadRecords else {
            var refusal = RPCError(.badRecord, hint: fault.message)
            refusal.reason = fault.json.flatMap { RPCError($0).reason }
            refusal.line = record.line
            refusal.offset = record.offset
            throw refusal
        }
        skipped += 1
        if errors.count < Self.errorLimit { errors.append((record.line, text)) }
        batch.end = record.end
    }

    // MARK: Telling

    private func report(_ channel: TransferChannel) {
        let time = configuration.clock.monotonic
        guard time >= reportAt else { return }
        reportAt = time + 500_000_000
        let stored = channel.stored
        channel.report(
            TransferProgress(
                unit: .bytes, done: stored.end ?? options.offset, total: total, imported: stored.documents,
                rev: stored.rev))
    }

    private func result(_ stored: TransferChannel.Stored) -> [UInt8] {
        var text = ByteBuffer()
        text.openObject()
        text.append(.imported, stored.documents)
        text.append(.skipped, skipped)
        text.openList(.errors)
        for error in errors {
            text.openObject()
            text.append(.line, error.line)
            text.append(.message, error.text)
            text.closeObject()
        }
        text.closeList()
        text.append(.offset, batch.end)
        return Array(text.bytes)
    }

    private func refusal(_ stop: TransferStop) -> RPCError { Self.refusal(stop) }

    static func refusal(_ stop: TransferStop) -> RPCError {
        switch stop {
        case .cancelled, .store(.engine(.cancelled)): RPCError(.shuttingDown, hint: "the import was called off")
        case .store(.engine(.noSpace)): RPCError(.noSpace)
        case .store(.engine(.tooLargeForRoom)):
            RPCError(.noSpace, hint: "the next documents are larger than the room; those before `offset` are imported")
        case .store(.engine(.quotaExceeded(let limit))): RPCError(.quotaExceeded, limit: limit)
        case .store(.engine(.accountFull(let limit, let measure))): .quotaExceeded(limit: limit, of: measure)
        case .store(.engine(let error)): RPCError(unreadable: error)
        case .store(.attachmentsFull(let limit, _)):
            RPCError(.quotaExceeded, hint: "a document's attachments are more than `limit`", limit: limit)
        case .store(.query), .store(.absent), .store(.uniqueViolation), .store(.referenced), .store(.unfit),
            .store(.tooManyDocuments),
            .store(.referencesBuilding), .store(.migrating):
            RPCError(.internalError, hint: "the tables could not be read")
        }
    }

    private static func failure(_ code: Int32) -> RPCError {
        switch code {
        case EBADF: RPCError(.transferFailed, hint: "the descriptor is not open for reading")
        case EISDIR: RPCError(.transferFailed, hint: "the descriptor is a directory")
        default: RPCError(.transferFailed, hint: "the descriptor could not be read")
        }
    }
}
