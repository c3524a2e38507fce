import KuraBytes
import Sodium

/// Checks and opens the frames of a backup, in their order: by the stream under the file's key, or by a chain of digests. One thread's.
final class FrameOpener {
    /// nil when the backup is not encrypted.
    let fileKey: SecretKey?
    private let stream: OpeningStream?
    private let headerDigest: [UInt8]
    private var chain: [UInt8]
    private var opened = ByteBuffer()

    /// Reads and checks the header, which `input` then has.
    /// - Throws: why the file is refused.
    init(_ input: BackupInput, _ opener: BackupOpener, kind: BackupFormat.Kind) throws(BackupFault) {
        opened.wipes = true
        try input.read(BackupFormat.fixedBytes)
        let fixed = input.bytes
        let magic = fixed.extracting(0..<8)
        guard let found = BackupFormat.Kind.allCases.first(where: { magic.equals(Bytes($0.magic)) }) else {
            throw .notABackup
        }
        guard found == kind else { throw found == .bundle ? .isBundle : .isBackup }
        let version = UInt16(littleEndian: fixed.loadUnaligned(fromByteOffset: 8, as: UInt16.self))
        guard version == BackupFormat.version else { throw .unknownVersion(Int(version)) }
        guard let suite = BackupFormat.Suite(rawValue: fixed[10]) else { throw .unknownSuite(Int(fixed[10])) }
        let locks = Int(fixed[11])
        let length = Int(UInt32(littleEndian: fixed.loadUnaligned(fromByteOffset: 12, as: UInt32.self)))
        let least =
            BackupFormat.fixedBytes + BackupFormat.digestBytes + (suite == .encrypted ? SealingStream.headerBytes : 0)
        guard length >= least, length <= BackupFormat.mostHeaderBytes, locks <= BackupFormat.mostLocks,
            suite == .encrypted || locks == 0 && length == least
        else { throw .damaged(frame: -1) }
        try input.read(length - BackupFormat.fixedBytes, appending: true)
        let header = input.bytes
        let end = length - BackupFormat.digestBytes
        var hash = GenericHash()
        hash.update(header.extracting(0..<end))
        headerDigest = hash.finish()
        guard headerDigest.withBytes({ $0.equals(header.extracting(end..<length)) }) else {
            throw .damaged(frame: -1)
        }
        chain = headerDigest
        guard suite == .encrypted else {
            (fileKey, stream) = (nil, nil)
            return
        }
        let start = end - SealingStream.headerBytes
        let key = try opener.fileKey(in: header.extracting(BackupFormat.fixedBytes..<start), count: locks)
        fileKey = key
        do throws(SodiumError) {
            stream = try OpeningStream(key: key, header: header.extracting(start..<end))
        } catch { throw .damaged(frame: -1) }
    }

    /// Opens the next frame. `number`: for messages.
    /// - Returns: its payload, good until the next call, and whether it is the last one.
    func open(_ frame: Bytes, number: Int) throws(BackupFault) -> (payload: Bytes, isFinal: Bool) {
        if let stream {
            opened.removeAll()
            do throws(SodiumError) {
                try headerDigest.withBytes { (digest) throws(SodiumError) in
                    try stream.open(frame, associated: digest, into: &opened)
                }
            } catch { throw .damaged(frame: number) }
            return (opened.bytes, stream.isAtEnd)
        }
        let end = frame.count - BackupFormat.digestBytes
        guard end > 1 else { throw .damaged(frame: number) }
        var hash = GenericHash()
        chain.withBytes { hash.update($0) }
        hash.update(frame.extracting(0..<end))
        chain = hash.finish()
        guard chain.withBytes({ $0.equals(frame.extracting(end..<frame.count)) }) else {
            throw .damaged(frame: number)
        }
        let tag = frame[0]
        guard tag == BackupFormat.messageTag || tag == BackupFormat.finalTag else { throw .malformed }
        return (frame.extracting(1..<end), tag == BackupFormat.finalTag)
    }
}
