import CSyscalls
import Glibc
import KuraBytes
import SQLite
import Sodium

/// A content on its way in: a file without a name, which nobody sees and which is gone with its descriptor, until `BlobFiles` gives it
/// one. Where the file system has no such files, it has a name in DATA/tmp meanwhile. Used by one thread at a time; may wait.
///
/// Safety: the paths are lent as C strings for the calls.
final class BlobDraft: @unchecked Sendable {
    // Handed from thread to thread, each of which is done with it before the next one begins.

    let descriptor: Int32
    /// Its name in DATA/tmp, for want of nameless files.
    private(set) var temporary: String?
    private(set) var bytes = 0
    private var hash: GenericHash?
    private let files: BlobFiles
    private let isUpload: Bool

    private static let numbers = Guarded(0)

    init(_ configuration: StorageConfiguration, _ files: BlobFiles, isUpload: Bool = false) throws(StorageFault) {
        self.files = files
        self.isUpload = isUpload
        hash = GenericHash()
        let directory = configuration.blobsDirectory
        if let fault = FaultPoints.hit(.blobOpen)?.errno {
            throw .system(errno: fault, call: "open", path: directory)
        }
        if FaultPoints.hit(.blobUnnamed) == nil {
            let unnamed = unsafe csys_unnamed_file(AT_FDCWD, directory, 0o400)
            if unnamed >= 0 {
                descriptor = unnamed
                return
            }
        } else {
            errno = EOPNOTSUPP
        }
        guard errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL else {
            throw FileSystem.fail("open", directory)
        }
        let number = Self.numbers.withLock { number in
            number += 1
            return number
        }
        let path = configuration.temporaryDirectory + "/blob-\(number)"
        descriptor = try FileSystem.open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o400)
        temporary = path
    }

    deinit {
        files.note(draftBytes: -bytes, ofUpload: isUpload)
        files.letGo(descriptor, temporary: temporary)
    }

    /// It has a name of its own now.
    func wasNamed() { temporary = nil }

    /// Adds what follows, all of it or nothing.
    func append(_ piece: Bytes, within bound: BlobBound) throws(ContentFault) {
        guard bytes + piece.count <= bound.bytes else { throw .tooLarge }
        try admit(piece.count)
        do throws(StorageFault) {
            if let fault = FaultPoints.hit(.blobWrite)?.errno {
                // A full disk takes a part.
                try FileSystem.write(descriptor, piece.extracting(0..<piece.count / 2), at: bytes, path: "")
                throw StorageFault.system(errno: fault, call: "write", path: "")
            }
            try FileSystem.write(descriptor, piece, at: bytes, path: "")
        } catch {
            // What was written of it would lie behind a shorter piece that comes in its stead.
            ftruncate(descriptor, off_t(bytes))
            throw error.isFull ? .noSpace : .failed
        }
        hash?.update(piece)
        note(piece.count)
    }

    /// Whether there is room for so many bytes more, in the file system and among all that is on its way in.
    private func admit(_ count: Int) throws(ContentFault) {
        guard files.admits(draftBytes: count, ofUpload: isUpload) else { throw .crowded }
        unlooked += count
        guard unlooked >= BlobLimits.lookBytes else { return }
        unlooked = 0
        if files.space.look() { throw .lowStorage }
    }

    /// Bytes since the file system was asked last.
    private var unlooked = 0

    /// Takes the next bytes of a file in, from its beginning, by position: what others do with the descriptor is of no matter.
    /// `size`: what it should have.
    /// `most`: bytes at once, about.
    /// `isEnding`: asked now and then.
    /// - Returns: whether there is more.
    func takePiece(
        of source: Int32, size: Int, within bound: BlobBound, _ most: Int, _ foreign: ForeignCalls, isEnding: () -> Bool
    ) throws(ContentFault) -> Bool {
        if isClone == nil {
            isClone =
                DiskLimit.admits(descriptor, size, at: 0)
                && foreign.call { csys_clone_file(source, descriptor) } == 0
        }
        let end = bytes + most
        if isClone == true { return try hashClone(size, upTo: end, isEnding) }
        return try ContentIntake.read(
            source, foreign, from: bytes, size: size, until: end, piece: Self.piece(of: size), isEnding
        ) { (piece) throws(ContentFault) in
            guard bytes + piece.count <= size else { throw .changed }
            try append(piece, within: bound)
        }
    }

    /// The file shares its blocks with the source's, as they were at one moment; nil before that was tried.
    private var isClone: Bool?

    /// Bytes to write at once. A write of 2 MiB at a multiple of that gets one page of 2 MiB in the kernel's memory, which whoever maps the file has by one
    /// entry: 10 MiB are mapped and read in 330 µs instead of 850 (ext4, Linux 6.18).
    static func piece(of size: Int) -> Int { size >= hugePiece ? hugePiece : ContentIntake.piece }
    private static let hugePiece = 2 << 20

    private func hashClone(_ size: Int, upTo end: Int, _ isEnding: () -> Bool) throws(ContentFault) -> Bool {
        if let fault = FaultPoints.hit(.blobWrite)?.errno { throw fault == ENOSPC ? .noSpace : .failed }
        return try ContentIntake.read(
            from: bytes, size: size, until: end, isEnding,
            read: { (position, most, buffer) throws(ContentFault) in
                do throws(StorageFault) {
                    return try FileSystem.read(descriptor, atMost: most, at: position, into: &buffer, path: "")
                } catch { throw .failed }
            },
            take: { (piece) throws(ContentFault) in
                hash?.update(piece)
                bytes += piece.count
                files.note(draftBytes: piece.count, ofUpload: isUpload)
            })
    }

    private func note(_ count: Int) {
        CountingVFS.count(role: .cache, part: .content, writes: 1, bytesWritten: count)
        bytes += count
        files.note(draftBytes: count, ofUpload: isUpload)
    }

    /// The digest of all that has been added; once.
    func finish() -> ContentDigest {
        guard let hash = hash.take() else { preconditionFailure("a content has one digest") }
        return ContentDigest(hash.finish())
    }

    /// All of it, when it turned out to be small.
    func contents() throws(StorageFault) -> [UInt8] {
        var buffer = ByteBuffer(capacity: max(bytes, 1))
        while buffer.count < bytes {
            let count = try FileSystem.read(
                descriptor, atMost: bytes - buffer.count, at: buffer.count, into: &buffer, path: "")
            guard count > 0 else { throw .system(errno: EIO, call: "read", path: "") }
        }
        return Array(buffer.bytes)
    }
}
