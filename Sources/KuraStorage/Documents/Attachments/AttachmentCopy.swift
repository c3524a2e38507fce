import Glibc
import KuraBytes
import SQLite
import Sodium
import Synchronization

/// Takes a content in: copies it into a file of its own, syncs it, and gives it its place. On a content thread.
public final class AttachmentCopy: PiecewiseCopy, @unchecked Sendable {
    // Has one user at a time, as the pool sees to.

    /// Where a content comes from.
    public enum Source {
        /// An open descriptor of a regular file; `owner` keeps it open.
        case descriptor(Int32, owner: any AnyObject & Sendable)
        /// Base64.
        case text([UInt8])
    }

    private var source: Source?
    private let files: AttachmentFiles
    private let configuration: StorageConfiguration
    public private(set) var fault: ContentFault?
    /// The content; set when there is no fault.
    public private(set) var digest: ContentDigest?
    public private(set) var bytes = 0
    /// Keeps it.
    public private(set) var pin: AttachmentPin?

    private static let counter = Atomic<UInt64>(0)

    let foreign: ForeignCalls?
    private let isStopped = Atomic<Bool>(false)
    /// The file that the content is copied to; -1 without.
    private var target: Int32 = -1
    private var temporary = ""
    private var hash: GenericHash? = GenericHash()
    /// Bytes that the source has.
    private var size = 0

    init(_ source: Source, _ files: AttachmentFiles, _ configuration: StorageConfiguration) {
        self.source = source
        self.files = files
        self.configuration = configuration
        if case .descriptor = source { foreign = ForeignCalls(configuration.clock) } else { foreign = nil }
    }

    deinit { if target >= 0 { close(target) } }

    /// It looks at no tables.
    public var foldedTo: UInt64 { 0 }

    public func stop() { isStopped.store(true, ordering: .relaxed) }

    func advance(_ isEnding: () -> Bool) -> Bool {
        do throws(ContentFault) {
            if try copyPiece(isEnding) { return true }
            try finish()
        } catch {
            if !temporary.isEmpty { FileSystem.tryToRemove(temporary) }
            fault = error
        }
        if target >= 0 { close(target) }
        target = -1
        // Closes the descriptor, and gives the text's memory back.
        source = nil
        return false
    }

    /// - Returns: whether there is more.
    private func copyPiece(_ isEnding: () -> Bool) throws(ContentFault) -> Bool {
        if isStopped.load(ordering: .relaxed) { throw .ending }
        if target < 0 { try openTarget() }
        switch source {
        case .descriptor(let descriptor, _): return try copyPiece(of: descriptor, isEnding)
        case .text(let text): try copy(text: text)
        case nil: throw .failed
        }
        return false
    }

    private func openTarget() throws(ContentFault) {
        let number = Self.counter.wrappingAdd(1, ordering: .relaxed).newValue
        temporary = configuration.temporaryDirectory + "/copy-\(number)"
        do throws(StorageFault) {
            target = try FileSystem.open(temporary, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o400)
        } catch { throw told(error) }
        guard case .descriptor(let descriptor, _) = source else { return }
        size = try foreign!.call { () throws(ContentFault) in try ContentIntake.size(of: descriptor) }
        guard size <= Attachment.byteLimit else { throw .tooLarge }
    }

    private func finish() throws(ContentFault) {
        _ = FaultPoints.hit(.attachmentCopied)
        guard fdatasync(target) == 0 else { throw .failed }
        CountingVFS.count(role: .durable, part: .content, syncs: 1)
        guard let hash = hash.take() else { throw .failed }
        let digest = ContentDigest(hash.finish())
        do throws(StorageFault) { pin = try files.adopt(temporary, digest) } catch {
            throw told(error)
        }
        self.digest = digest
    }

    /// Directories that somebody has taken away, or has put where a content belongs, are told of, as what reads meet is.
    private func told(_ error: StorageFault) -> ContentFault {
        guard case .system(let code, _, let path) = error else { return ContentFault(error) }
        let gone = [configuration.tablesPath, configuration.attachmentsDirectory].first { !FileSystem.exists($0) }
        let isInside = path.hasPrefix(configuration.durableDirectory + "/")
        switch code {
        case ENOENT where gone != nil || isInside: DamageWatch.notice(goneAt: gone ?? path)
        case EISDIR where isInside: DamageWatch.notice(damageIn: path, "a directory is in its place")
        case ENOTDIR where isInside: DamageWatch.notice(damageIn: path, "what should be its directory is none")
        default: return ContentFault(error)
        }
        return .damaged
    }

    /// - Returns: whether there is more.
    private func copyPiece(of descriptor: Int32, _ isEnding: () -> Bool) throws(ContentFault) -> Bool {
        try ContentIntake.read(
            descriptor, foreign!, from: bytes, size: size, until: bytes + Self.pieceBytes,
            { isEnding() || isStopped.load(ordering: .relaxed) }
        ) { (piece) throws(ContentFault) in try write(piece) }
    }

    private func copy(text: [UInt8]) throws(ContentFault) {
        var decoded = ByteBuffer(capacity: ContentIntake.piece)
        try ContentIntake.decode(text, into: &decoded) { (decoded) throws(ContentFault) in
            try write(decoded.bytes)
            decoded.removeAll()
        }
    }

    private func write(_ piece: Bytes) throws(ContentFault) {
        hash?.update(piece)
        if let code = FaultPoints.hit(.attachmentWrite)?.errno { throw code == ENOSPC ? .noSpace : .failed }
        do throws(StorageFault) { try FileSystem.write(target, piece, at: bytes, path: "") } catch {
            throw ContentFault(error)
        }
        CountingVFS.count(role: .durable, part: .content, writes: 1, bytesWritten: piece.count)
        bytes += piece.count
    }
}
