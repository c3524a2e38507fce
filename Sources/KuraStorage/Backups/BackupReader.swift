import KuraBytes
import Sodium

/// Reads a backup frame by frame, each checked before anything of it is shown. One thread's.
///
/// The file's descriptor is read by position; it stays the caller's.
public final class BackupReader {
    private let input: BackupInput
    private let frame: FrameOpener
    private let kind: BackupFormat.Kind
    private let opener: BackupOpener
    private var whole = GenericHash()
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
    /// The final frame has been read, and nothing follows it.
    private(set) var isAtEnd = false

    /// nil when the backup is not encrypted.
    var fileKey: SecretKey? { frame.fileKey }
    /// Bytes that have been read.
    public var bytesRead: Int { input.offset }

    /// Reads and checks the header.
    /// `path`: for messages. `kind`: what it is to be.
    /// Throws: why the file is refused.
    init(
        _ descriptor: Int32, path: String, _ opener: BackupOpener = BackupOpener(), kind: BackupFormat.Kind = .backup
    ) throws(BackupFault) {
        self.kind = kind
        self.opener = opener
        input = BackupInput(descriptor, path: path)
        frame = try FrameOpener(input, opener, kind: kind)
        whole.update(input.bytes)
    }

    /// The next frame's payload, checked; good until the next call. nil behind the last one.
    /// - Throws: why it is refused.
    func next() throws(BackupFault) -> (kind: BackupFormat.Payload, payload: Bytes)? {
        guard !isAtEnd else { return nil }
        before = GenericHash(copying: whole).finish()
        try input.read(4)
        whole.update(input.bytes)
        let length = Int(UInt32(littleEndian: input.bytes.loadUnaligned(as: UInt32.self)))
        guard length > BackupFormat.digestBytes / 2, length <= BackupFormat.mostFrameBytes else {
            throw .damaged(frame: frames)
        }
        try input.read(length)
        whole.update(input.bytes)
        let (payload, isFinal) = try frame.open(input.bytes, number: frames)
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
            try input.finish()
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
            try input.read(4)
            let length = Int(UInt32(littleEndian: input.bytes.loadUnaligned(as: UInt32.self)))
            guard length > BackupFormat.digestBytes + 1, length <= BackupFormat.mostFrameBytes else {
                throw .damaged(frame: frames)
            }
            frames += 1
            guard input.offset + length >= size else {
                input.skip(length)
                continue
            }
            try input.read(length)
            let frame = input.bytes
            guard input.offset == size, frame[0] == BackupFormat.finalTag,
                frame[1] == BackupFormat.Payload.manifest.rawValue
            else { throw .malformed }
            return try BackupManifest(frame.extracting(2..<length - BackupFormat.digestBytes))
        }
    }

    /// The digest of the whole file, once it has been read.
    func digest() -> [UInt8] {
        var last = GenericHash()
        swap(&last, &whole)
        return last.finish()
    }
}
