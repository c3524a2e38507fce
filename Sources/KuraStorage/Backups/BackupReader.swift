import Glibc
import KuraBytes
import SQLite
import Sodium

/// Reads a backup frame by frame, each checked before anything of it is shown. One thread's.
///
/// The file's descriptor is read by position; it stays the caller's.
public final class BackupReader {
    private let descriptor: Int32
    private let path: String
    private let kind: BackupFormat.Kind
    private var offset = 0
    private var stream: OpeningStream?
    /// nil when the backup is not encrypted.
    private(set) var fileKey: SecretKey?
    private var headerDigest: [UInt8] = []
    private var chain: [UInt8] = []
    private var whole = GenericHash()
    private var frame = ByteBuffer()
    private var opened = ByteBuffer()
    private var frames = 0
    /// The number of the frame that was read last.
    var part: Int { frames - 1 }
    /// Kind of the frame before.
    private var last: BackupFormat.Payload?
    /// Digest of what is before the frame that was read last.
    private var before: [UInt8] = []
    /// Text of the slots that came along; nil before they were read, and without.
    private var slots: [UInt8]?
    /// Whose work it is; known behind the manifest.
    private(set) var origin = BackupOrigin.unproved
    private let opener: BackupOpener
    /// The final frame has been read, and nothing follows it.
    private(set) var isAtEnd = false

    var isEncrypted: Bool { fileKey != nil }
    /// Bytes that have been read.
    public var bytesRead: Int { offset }

    /// Reads and checks the header.
    /// `path`: for messages. `kind`: what it is to be.
    /// Throws: why the file is refused.
    init(
        _ descriptor: Int32, path: String, _ opener: BackupOpener = BackupOpener(), kind: BackupFormat.Kind = .backup
    ) throws(BackupFault) {
        self.descriptor = descriptor
        self.path = path
        self.kind = kind
        self.opener = opener
        opened.wipes = true
        try read(BackupFormat.fixedBytes)
        let magic = frame.bytes.extracting(0..<8)
        guard let found = BackupFormat.Kind.allCases.first(where: { magic.equals(Bytes($0.magic)) }) else {
            throw .notABackup
        }
        guard found == kind else { throw found == .bundle ? .isBundle : .isBackup }
        let version = UInt16(littleEndian: frame.bytes.loadUnaligned(fromByteOffset: 8, as: UInt16.self))
        guard version == BackupFormat.version else { throw .unknownVersion(Int(version)) }
        guard let suite = BackupFormat.Suite(rawValue: frame.bytes[10]) else {
            throw .unknownSuite(Int(frame.bytes[10]))
        }
        let locks = Int(frame.bytes[11])
        let length = Int(UInt32(littleEndian: frame.bytes.loadUnaligned(fromByteOffset: 12, as: UInt32.self)))
        let least =
            BackupFormat.fixedBytes + BackupFormat.digestBytes + (suite == .encrypted ? SealingStream.headerBytes : 0)
        guard length >= least, length <= BackupFormat.mostHeaderBytes, locks <= BackupFormat.mostLocks,
            suite == .encrypted || locks == 0 && length == least
        else { throw .damaged(frame: -1) }
        try read(length - BackupFormat.fixedBytes, appending: true)
        let end = length - BackupFormat.digestBytes
        var hash = GenericHash()
        hash.update(frame.bytes(0..<end))
        headerDigest = hash.finish()
        guard headerDigest.withBytes({ $0.equals(frame.bytes(end..<length)) }) else { throw .damaged(frame: -1) }
        chain = headerDigest
        whole.update(frame.bytes)
        guard suite == .encrypted else { return }
        let start = end - SealingStream.headerBytes
        let key = try opener.fileKey(in: frame.bytes(BackupFormat.fixedBytes..<start), count: locks)
        fileKey = key
        do throws(SodiumError) { stream = try OpeningStream(key: key, header: frame.bytes(start..<end)) } catch {
            throw .damaged(frame: -1)
        }
    }

    /// The next frame's payload, checked; good until the next call. nil behind the last one.
    /// - Throws: why it is refused.
    func next() throws(BackupFault) -> (kind: BackupFormat.Payload, payload: Bytes)? {
        guard !isAtEnd else { return nil }
        before = GenericHash(copying: whole).finish()
        try read(4)
        whole.update(frame.bytes)
        let length = Int(UInt32(littleEndian: frame.bytes.loadUnaligned(as: UInt32.self)))
        guard length > BackupFormat.digestBytes / 2, length <= BackupFormat.mostFrameBytes else {
            throw .damaged(frame: frames)
        }
        try read(length)
        whole.update(frame.bytes)
        let payload: Bytes
        let isFinal: Bool
        if let stream {
            opened.removeAll()
            do throws(SodiumError) {
                try headerDigest.withBytes { (digest) throws(SodiumError) in
                    try stream.open(frame.bytes, associated: digest, into: &opened)
                }
            } catch { throw .damaged(frame: frames) }
            isFinal = stream.isAtEnd
            payload = opened.bytes
        } else {
            let end = length - BackupFormat.digestBytes
            guard end > 1 else { throw .damaged(frame: frames) }
            var hash = GenericHash()
            chain.withBytes { hash.update($0) }
            hash.update(frame.bytes(0..<end))
            chain = hash.finish()
            guard chain.withBytes({ $0.equals(frame.bytes(end..<length)) }) else { throw .damaged(frame: frames) }
            let tag = frame.bytes[0]
            guard tag == BackupFormat.messageTag || tag == BackupFormat.finalTag else { throw .malformed }
            isFinal = tag == BackupFormat.finalTag
            payload = frame.bytes(1..<end)
        }
        frames += 1
        guard let first = payload.first, let kind = BackupFormat.Payload(rawValue: first),
            isFinal == (kind == .manifest), kind != .models || self.kind == .bundle,
            kind != .keys || self.kind == .backup, follows(kind)
        else { throw .malformed }
        last = kind
        if kind == .keys { slots = RestoredKeys.slotsText(payload.extracting(1..<payload.count)) }
        if isFinal {
            isAtEnd = true
            origin = try opener.origin(of: payload.extracting(1..<payload.count), before: before, slots: slots)
            var more = ByteBuffer()
            guard try readSome(1, into: &more) == 0 else { throw .trailing }
        }
        return (kind, payload.extracting(1..<payload.count))
    }

    /// Whether a frame may stand behind the one before. Contents, say, are for records that are known by then.
    private func follows(_ kind: BackupFormat.Payload) -> Bool {
        guard let last else { return kind == .beginning }
        return last.place < kind.place || last == kind && !kind.isSingle
    }

    /// Reads everything, has it judged, and keeps the manifest.
    /// - Throws: why the file is refused, wherever that is.
    public func verify(isCancelled: () -> Bool = { false }) throws(BackupFault) -> BackupManifest {
        var records = RecordGuard(of: kind)
        return try verify(&records, isCancelled: isCancelled)
    }

    /// `records`: a fresh one, which judges all of them.
    func verify(_ records: inout RecordGuard, isCancelled: () -> Bool) throws(BackupFault) -> BackupManifest {
        var manifest: BackupManifest?
        var whole = FileGuard(leavesOut: records.leavesOut)
        while let (kind, payload) = try next() {
            if isCancelled() { throw .cancelled }
            switch kind {
            case .manifest: manifest = try BackupManifest(checking: payload)
            case .records:
                var position = 0
                while let judged = try records.next(in: payload, at: &position) {
                    whole.note(judged)
                }
            case .models:
                var position = 0
                while let model = try records.nextModel(in: payload, at: &position) { whole.note(model) }
            case .content: try whole.take(payload, part: part)
            case .beginning, .keys: break
            }
        }
        guard let manifest else { throw .truncated }
        try whole.finish(manifest, records)
        return manifest
    }

    /// The manifest at the end of a file of `size` bytes that is not encrypted, without what lies before it: only the frames' lengths are
    /// looked at, and no digest is.
    func glance(size: Int) throws(BackupFault) -> BackupManifest {
        while true {
            try read(4)
            let length = Int(UInt32(littleEndian: frame.bytes.loadUnaligned(as: UInt32.self)))
            guard length > BackupFormat.digestBytes + 1, length <= BackupFormat.mostFrameBytes else {
                throw .damaged(frame: frames)
            }
            frames += 1
            guard offset + length >= size else {
                offset += length
                continue
            }
            try read(length)
            guard offset == size, frame.bytes[0] == BackupFormat.finalTag,
                frame.bytes[1] == BackupFormat.Payload.manifest.rawValue
            else { throw .malformed }
            return try BackupManifest(frame.bytes(2..<length - BackupFormat.digestBytes))
        }
    }

    /// The digest of the whole file, once it has been read.
    func digest() -> [UInt8] {
        var last = GenericHash()
        swap(&last, &whole)
        return last.finish()
    }

    /// Fills `frame` with the next bytes.
    /// - Throws: `truncated` when there are fewer.
    private func read(_ count: Int, appending: Bool = false) throws(BackupFault) {
        if !appending { frame.removeAll() }
        let end = frame.count + count
        while frame.count < end {
            guard try readSome(end - frame.count, into: &frame) > 0 else { throw .truncated }
        }
    }

    private func readSome(_ count: Int, into buffer: inout ByteBuffer) throws(BackupFault) -> Int {
        do throws(StorageFault) {
            let read = try FileSystem.read(descriptor, atMost: count, at: offset, into: &buffer, path: path)
            offset += read
            return read
        } catch { throw BackupFault(error) }
    }
}
