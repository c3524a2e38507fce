import CSyscalls
import Glibc
public import KuraBytes
import SQLite
import Sodium

/// Opens a content, or reads it as a text of base64. On a content thread.
public final class AttachmentRead: TableQuery, @unchecked Sendable {
    // Has one user at a time, as the pool sees to.

    private let attachment: Attachment
    private let isInline: Bool
    private let configuration: StorageConfiguration
    /// The open file; -1 without.
    private var descriptor: Int32 = -1
    /// Base64; empty when the file was only opened.
    private var buffer = ByteBuffer()
    /// The content is not there, or not what it was.
    public private(set) var isDamaged = false
    /// Too many files are open, or memory is short: nothing was found out about it.
    public private(set) var isUnavailable = false

    private static let piece = 192 << 10

    init(_ attachment: Attachment, isInline: Bool, _ configuration: StorageConfiguration) {
        self.attachment = attachment
        self.isInline = isInline
        self.configuration = configuration
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    public var foldedTo: UInt64 { 0 }
    /// What it was asked for: the document may have another by now.
    public var digest: ContentDigest { attachment.digest }
    public var text: Bytes { buffer.bytes }

    /// A descriptor of the file, open for reading only, for whoever closes it; nil when the process has too many.
    public func duplicate() -> Int32? {
        let number = csys_fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        return number >= 0 ? number : nil
    }

    public func run(_ tables: TableReader) throws(QueryError) {
        do throws(EngineError) { try look(tables) } catch { throw .engine(error) }
    }

    func look(_ tables: TableReader) throws(EngineError) {
        do throws(StorageFault) {
            let path = AttachmentFiles.path(attachment.digest, configuration)
            descriptor = try FileSystem.openRegular(path)
            guard FileSystem.size(path) == attachment.bytes else {
                isDamaged = true
                return
            }
            if isInline { try read(path, tables) }
        } catch {
            if error.isWant { isUnavailable = true } else { isDamaged = true }
        }
        // Not heard to its end: nothing can be said.
        if isDamaged, tables.isEnding { throw .cancelled }
    }

    private func read(_ path: String, _ tables: TableReader) throws(StorageFault) {
        var hash = GenericHash()
        var piece = ByteBuffer(capacity: Self.piece)
        var done = 0
        buffer.reserve(Base64.length(of: attachment.bytes))
        while done < attachment.bytes {
            piece.removeAll()
            // Whole groups of three bytes, but for the last.
            while piece.count < Self.piece {
                let count = try FileSystem.read(
                    descriptor, atMost: Self.piece - piece.count, at: done + piece.count, into: &piece, path: path)
                if count == 0 { break }
            }
            guard piece.count > 0, !tables.isEnding else { break }
            hash.update(piece.bytes)
            Base64.encode(piece.bytes, into: &buffer)
            done += piece.count
        }
        isDamaged = ContentDigest(hash.finish()) != attachment.digest
    }
}
