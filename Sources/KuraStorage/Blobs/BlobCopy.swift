import CSyscalls
import Glibc
public import KuraBytes
import SQLite
import Sodium
import Synchronization

/// Takes a content in, on a content thread: a small one into memory, a larger one into a file of its own.
public final class BlobCopy: PiecewiseCopy, @unchecked Sendable {
    // Has one user at a time, as the pool sees to.

    /// Where a content comes from.
    public enum Source {
        /// A file that is still to be opened, or open already.
        case file(any BlobSource)
        /// Base64.
        case text([UInt8])
        /// What has come in pieces.
        case upload(BlobUpload)
    }

    private var source: Source?
    let foreign: ForeignCalls?
    private let isStopped = Atomic<Bool>(false)
    /// A larger content of a file: where it is copied to, the file's descriptor, and its bytes.
    private var copying: (draft: BlobDraft, descriptor: Int32, size: Int)?
    /// What it was to be taken from, when that was a file or came in pieces.
    public let file: (any BlobSource)?
    public let upload: BlobUpload?
    private let files: BlobFiles
    private let configuration: StorageConfiguration
    public let bound: BlobBound
    public private(set) var fault: ContentFault?
    /// Set when there is no fault.
    public private(set) var content: BlobContent?

    init(_ source: Source, within bound: BlobBound, _ files: BlobFiles, _ configuration: StorageConfiguration) {
        self.source = source
        if case .file(let file) = source { self.file = file } else { file = nil }
        foreign = file == nil ? nil : ForeignCalls(configuration.clock)
        if case .upload(let upload) = source { self.upload = upload } else { upload = nil }
        self.bound = bound
        self.files = files
        self.configuration = configuration
    }

    /// It looks at no tables.
    public var foldedTo: UInt64 { 0 }
    /// Short ones do not wait for several of them.
    public var isLong: Bool { true }

    public func stop() { isStopped.store(true, ordering: .relaxed) }

    func advance(_ isEnding: () -> Bool) -> Bool {
        do throws(ContentFault) {
            if isStopped.load(ordering: .relaxed) { throw .ending }
            switch source {
            case .file(let file): if try takePiece(of: file, isEnding) { return true }
            case .text(let text): try take(text, isEnding)
            case .upload(let upload):
                // Without a piece it is empty.
                if let draft = upload.takeDraft() { try finish(draft) } else { try finish(makeDraft()) }
            case nil: throw .failed
            }
        } catch { fault = error }
        copying = nil
        file?.close()
        // Gives a text's memory back.
        source = nil
        return false
    }

    /// - Returns: whether there is more.
    private func takePiece(of file: any BlobSource, _ isEnding: () -> Bool) throws(ContentFault) -> Bool {
        if copying == nil { copying = try begin(file) }
        guard let (draft, descriptor, size) = copying else { return false }
        let isMore = try draft.takePiece(of: descriptor, size: size, within: bound, Self.pieceBytes, foreign!) {
            isEnding() || isStopped.load(ordering: .relaxed)
        }
        if !isMore { try finish(draft) }
        return isMore
    }

    /// - Returns: what is to be copied; nil when that was so little that it has been read.
    private func begin(
        _ file: any BlobSource
    ) throws(ContentFault) -> (draft: BlobDraft, descriptor: Int32, size: Int)? {
        let (descriptor, size) = try foreign!.call { () throws(ContentFault) -> (Int32, Int) in
            guard let descriptor = file.open() else { throw .closed }
            return (descriptor, try ContentIntake.size(of: descriptor))
        }
        guard size <= bound.bytes else { throw .tooLarge }
        guard size <= BlobLimits.smallBytes else { return (try makeDraft(), descriptor, size) }
        var buffer = ByteBuffer(capacity: size + 1)
        while buffer.count <= size {
            let count: Int
            do throws(StorageFault) {
                count = try foreign!.call { () throws(StorageFault) -> Int in
                    try FileSystem.read(
                        descriptor, atMost: size - buffer.count + 1, at: buffer.count, into: &buffer, path: "")
                }
            } catch { throw .unreadable }
            if count == 0 { break }
        }
        guard buffer.count == size else { throw .changed }
        content = BlobContent(small: buffer.bytes)
        return nil
    }

    private func take(_ text: [UInt8], _ isEnding: () -> Bool) throws(ContentFault) {
        let piece = BlobDraft.piece(of: text.count / 4 * 3)
        var decoded = ByteBuffer(capacity: piece + ContentIntake.piece)
        let draft = try makeDraft()
        try ContentIntake.decode(text, into: &decoded, isEnding) { (decoded) throws(ContentFault) in
            guard draft.bytes + decoded.count <= bound.bytes else { throw .tooLarge }
            if decoded.count >= piece {
                try draft.append(decoded.bytes(0..<piece), within: bound)
                decoded.removeFirst(piece)
            }
        }
        if !decoded.isEmpty { try draft.append(decoded.bytes, within: bound) }
        try finish(draft)
    }

    private func makeDraft() throws(ContentFault) -> BlobDraft {
        do throws(StorageFault) { return try BlobDraft(configuration, files) } catch {
            throw ContentFault(error)
        }
    }

    private func finish(_ draft: BlobDraft) throws(ContentFault) {
        do throws(StorageFault) { content = try BlobContent(draft, files) } catch {
            throw ContentFault(error)
        }
    }
}

/// A file that a content comes from.
public protocol BlobSource: AnyObject, Sendable {
    /// Its descriptor, which stays open until `close`. On a thread that may wait. Nil when it cannot be had.
    func open() -> Int32?
    /// It is not needed any more.
    func close()
}

extension BlobContent {
    /// A content of at most `BlobLimits.smallBytes`.
    public init(small bytes: Bytes) {
        var hash = GenericHash()
        hash.update(bytes)
        self.init(digest: ContentDigest(hash.finish()), bytes: bytes.count, small: Array(bytes), hold: nil)
    }

    /// A content that is whole: a small one leaves its file for memory, a larger one's file gets its name. May wait.
    init(_ draft: BlobDraft, _ files: BlobFiles) throws(StorageFault) {
        let digest = draft.finish()
        if draft.bytes <= BlobLimits.smallBytes {
            self.init(digest: digest, bytes: draft.bytes, small: try draft.contents(), hold: nil)
        } else {
            self.init(digest: digest, bytes: draft.bytes, small: nil, hold: try files.adopt(draft, digest))
        }
    }
}
