import CSyscalls
import Glibc
public import KuraBytes
import SQLite
import Sodium

/// Opens a content, or reads a part of it as base64. What is only opened is opened on the thread that looks up what somebody waits for: a
/// client that maps the file waits for nothing else. What is read or hashed is on a content thread.
public final class BlobRead: BlobLook, @unchecked Sendable {
    // Has one user at a time, as the threads see to.

    /// What is wanted of it.
    public enum Form: Sendable, Equatable {
        /// An open descriptor.
        case descriptor
        /// Base64 of these bytes.
        case inline(Range<Int>)
        /// That it is there.
        case presence
    }

    public let digest: ContentDigest
    private let bytes: Int
    private let form: Form
    private let verifies: Bool
    private let path: String
    /// The open file; -1 without.
    private var file: Int32 = -1
    /// Base64; empty when the file was only opened.
    private var buffer = ByteBuffer()
    /// The content is not there, or not what it was.
    public private(set) var isDamaged = false
    /// It could not be looked at, for want of descriptors or memory, say: nothing is known of it.
    public private(set) var isUnavailable = false
    /// All of it has been hashed, and is what it was.
    public private(set) var isVerified = false

    /// A multiple of three: pieces are encoded one by one.
    private static let piece = 192 << 10

    /// `path`: of the content's file.
    /// `verifies`: all of it is hashed before anything is shown.
    init(_ digest: ContentDigest, bytes: Int, path: String, as form: Form, verifies: Bool, ticket: UInt64) {
        self.digest = digest
        self.bytes = bytes
        self.path = path
        self.form = form
        self.verifies = verifies
        super.init(ticket: ticket)
    }

    deinit { if file >= 0 { close(file) } }

    /// It takes no longer than opening a file.
    var isShort: Bool { !verifies && (form == .descriptor || form == .presence) }
    public override var isLong: Bool { verifies && bytes > 1 << 20 }
    public var text: Bytes { buffer.bytes }
    public override var footprint: Int { buffer.capacity }
    public override func discard() { buffer.releaseMemory() }

    /// A descriptor of the file, open for reading only, whose closing is the caller's; nil when the process has too many. It shares its
    /// place in the file with no other client's.
    public func descriptor() -> Int32? {
        guard file >= 0 else { return nil }
        let number = csys_fcntl(file, F_DUPFD_CLOEXEC, 0)
        return number >= 0 ? number : nil
    }

    override func run(_ files: CacheFiles) { try? look { false } }

    public override func run(_ tables: TableReader) throws(QueryError) {
        do throws(EngineError) { try look { tables.isEnding } } catch { throw .engine(error) }
    }

    /// `isEnding`: asked between pieces.
    private func look(_ isEnding: () -> Bool) throws(EngineError) {
        defer { if form != .descriptor || isDamaged || isUnavailable { closeFile() } }
        do throws(StorageFault) {
            file = try FileSystem.openRegular(path)
            var information = stat()
            // Safety: the kernel fills one `stat`, which is ours.
            guard unsafe fstat(file, &information) == 0 else { throw FileSystem.fail("fstat", path) }
            guard information.st_mode & S_IFMT == S_IFREG, Int(information.st_size) == bytes else {
                isDamaged = true
                return
            }
            if verifies {
                try verify(isEnding)
                // Not heard to its end: nothing can be said.
                if isEnding() { throw StorageFault.refused("the storage is closing") }
                guard isVerified else {
                    isDamaged = true
                    return
                }
            }
            if case .inline(let range) = form { try read(range, isEnding) }
        } catch {
            if isEnding() { throw .cancelled }
            if error.isOfTheFile { isDamaged = true } else { isUnavailable = true }
        }
    }

    /// Here, where it may wait.
    private func closeFile() {
        if file >= 0 { close(file) }
        file = -1
    }

    private func verify(_ isEnding: () -> Bool) throws(StorageFault) {
        var hash = GenericHash()
        var buffer = ByteBuffer(capacity: Self.piece)
        var done = 0
        while done < bytes, !isEnding() {
            buffer.removeAll()
            let count = try FileSystem.read(file, atMost: Self.piece, at: done, into: &buffer, path: path)
            guard count > 0 else { return }
            hash.update(buffer.bytes)
            done += count
        }
        isVerified = ContentDigest(hash.finish()) == digest
    }

    private func read(_ range: Range<Int>, _ isEnding: () -> Bool) throws(StorageFault) {
        var piece = ByteBuffer(capacity: Self.piece)
        var done = range.lowerBound
        buffer.reserve(Base64.length(of: range.count))
        while done < range.upperBound, !isEnding() {
            piece.removeAll()
            let wanted = min(Self.piece, range.upperBound - done)
            while piece.count < wanted {
                let count = try FileSystem.read(
                    file, atMost: wanted - piece.count, at: done + piece.count, into: &piece, path: path)
                guard count > 0 else { throw .system(errno: EIO, call: "read", path: path) }
            }
            Base64.encode(piece.bytes, into: &buffer)
            done += piece.count
        }
    }
}

extension StorageFault {
    /// The file is not there, is something else, or the disk cannot read it. Whatever else fails says nothing about the file.
    fileprivate var isOfTheFile: Bool {
        guard case .system(let code, _, _) = self else { return false }
        return [ENOENT, ENOTDIR, ELOOP, EISDIR, EINVAL, EIO].contains(code)
    }
}

/// Small contents that are handed out as files.
public enum SealedFile {
    /// A file in memory with these bytes, which nobody can change, open for reading; nil when there is none to have. Waits for nothing.
    public static func make(_ bytes: Bytes) -> Int32? {
        // Safety: the name is lent as a C string for the call.
        let file = unsafe csys_private_memory_file("kura-blob")
        guard file >= 0 else { return nil }
        guard (try? FileSystem.write(file, bytes, at: 0, path: "")) != nil, csys_seal_memory_file(file) == 0 else {
            close(file)
            return nil
        }
        let reopened = csys_reopen_for_reading(file)
        // Without /proc the first one has to do: the seals hold for it too.
        guard reopened >= 0 else { return file }
        close(file)
        return reopened
    }
}
