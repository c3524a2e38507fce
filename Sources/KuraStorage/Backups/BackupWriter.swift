public import KuraBytes
import Sodium

/// Where a backup's bytes go, in their order.
public protocol BackupSink: AnyObject {
    /// Takes all of the bytes; may wait.
    func write(_ bytes: Bytes) throws(BackupFault)
}

/// Writes a backup frame by frame (`BackupFormat`). One thread's.
final class BackupWriter {
    private let sink: any BackupSink
    private let stream: SealingStream?
    /// nil when the backup is not encrypted.
    let fileKey: SecretKey?
    private let headerDigest: [UInt8]
    private var chain: [UInt8]
    private var whole = GenericHash()
    private var frame = ByteBuffer()
    private var records = ByteBuffer(capacity: BackupFormat.chunkBytes)
    private(set) var bytesWritten = 0
    private(set) var frames = 0

    /// Writes the header.
    init(
        to sink: any BackupSink, _ locks: BackupLocks, kind: BackupFormat.Kind = .backup
    ) throws(BackupFault) {
        self.sink = sink
        guard locks.count <= BackupFormat.mostLocks else {
            throw .refused("more than \(BackupFormat.mostLocks) recipients")
        }
        var header = ByteBuffer()
        header.append(kind.magic)
        header.append(littleEndian: BackupFormat.version)
        header.append((locks.isEncrypted ? BackupFormat.Suite.encrypted : .plain).rawValue)
        header.append(UInt8(locks.count))
        var parts = ByteBuffer()
        if locks.isEncrypted {
            let key: SecretKey
            do throws(SodiumError) { key = try SecretKey() } catch { throw .outOfMemory }
            try locks.append(key, to: &parts)
            stream = SealingStream(key: key, header: &parts)
            fileKey = key
        } else {
            stream = nil
            fileKey = nil
        }
        header.append(
            littleEndian: UInt32(BackupFormat.fixedBytes + parts.count + BackupFormat.digestBytes))
        header.append(parts.bytes)
        var hash = GenericHash()
        hash.update(header.bytes)
        headerDigest = hash.finish()
        chain = headerDigest
        header.append(headerDigest)
        try emit(header.bytes)
    }

    /// Appends a record to the chunk that is being gathered.
    func append(_ record: BackupRecord) throws(BackupFault) {
        if !records.isEmpty, records.count + record.length > BackupFormat.chunkBytes { try flush() }
        if records.isEmpty { records.append(BackupFormat.Payload.records.rawValue) }
        record.append(to: &records)
    }

    /// Appends a record that is encoded already.
    func append(encoded record: Bytes) throws(BackupFault) {
        if !records.isEmpty, records.count + record.count > BackupFormat.chunkBytes { try flush() }
        if records.isEmpty { records.append(BackupFormat.Payload.records.rawValue) }
        records.append(record)
    }

    /// Writes the records that have been gathered.
    func flush() throws(BackupFault) {
        guard !records.isEmpty else { return }
        try write(records.bytes, isFinal: false)
        records.removeAll()
        if records.capacity > 4 * BackupFormat.chunkBytes { records = ByteBuffer(capacity: BackupFormat.chunkBytes) }
    }

    /// Writes a frame of another kind.
    /// `body`: appends the payload behind its kind.
    func write(_ kind: BackupFormat.Payload, _ body: (inout ByteBuffer) -> Void) throws(BackupFault) {
        try flush()
        var payload = ByteBuffer()
        payload.wipes = kind == .keys
        payload.append(kind.rawValue)
        body(&payload)
        try write(payload.bytes, isFinal: kind == .manifest)
    }

    /// Writes the last frame. `manifest` gets its proof, when there is something to prove it with.
    func finish(_ manifest: inout BackupManifest, _ origin: OriginKey?) throws(BackupFault) {
        try flush()
        if let origin { manifest.prove(with: origin, before: GenericHash(copying: whole).finish()) }
        try write(.manifest) { manifest.append(to: &$0) }
    }

    /// The digest of the whole file; nothing can be written afterwards.
    func finish() -> [UInt8] {
        var last = GenericHash()
        swap(&last, &whole)
        return last.finish()
    }

    private func write(_ payload: Bytes, isFinal: Bool) throws(BackupFault) {
        frame.removeAll()
        if let stream {
            frame.append(littleEndian: UInt32(payload.count + SealingStream.overhead))
            headerDigest.withBytes { stream.seal(payload, isFinal: isFinal, associated: $0, to: &frame) }
        } else {
            frame.append(littleEndian: UInt32(payload.count + 1 + BackupFormat.digestBytes))
            frame.append(isFinal ? BackupFormat.finalTag : BackupFormat.messageTag)
            frame.append(payload)
            var hash = GenericHash()
            chain.withBytes { hash.update($0) }
            hash.update(frame.bytes(4..<frame.count))
            chain = hash.finish()
            frame.append(chain)
        }
        frames += 1
        try emit(frame.bytes)
        if frame.capacity > 4 * BackupFormat.chunkBytes { frame = ByteBuffer() }
    }

    private func emit(_ bytes: Bytes) throws(BackupFault) {
        whole.update(bytes)
        bytesWritten += bytes.count
        try sink.write(bytes)
    }
}
