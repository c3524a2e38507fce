#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// A blob's content as it lies in the daemon's file or memory: mapped and not copied, readable and never writable.
///
/// It stays what it is when the blob is replaced or removed meanwhile, and is unmapped with its last owner. Reading a page of a large
/// one for the first time may wait for the disk.
public final class Blob: Sendable {
    public let info: BlobInfo
    private let map: FileMap?

    init(info: BlobInfo, descriptor: OwnedDescriptor) throws(KuraError) {
        self.info = info
        map = info.bytes == 0 ? nil : try FileMap(descriptor, bytes: info.bytes)
    }

    /// Bytes of the content.
    public var count: Int { info.bytes }

    /// Lends the content's memory for the call.
    public func withBytes<Result, Failure: Error>(
        _ body: (RawSpan) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        guard let map else { return try body(RawSpan()) }
        return try map.withBytes(body)
    }

    /// A copy of a part of the content, cut at its end; of all of it when nothing is said.
    public func copy(_ range: Range<Int>? = nil) -> [UInt8] {
        withBytes { bytes in
            let range = (range ?? 0..<bytes.byteCount).clamped(to: 0..<bytes.byteCount)
            // Safety: the part's own bytes, which last for the call.
            return unsafe bytes.extracting(range).withUnsafeBytes { part in unsafe Array(part) }
        }
    }
}

/// Pages of a file, mapped for reading.
///
/// Safety: nothing writes through the map, nothing changes `start` and `count`, and the map ends with the object. What is mapped is a sealed memory
/// file, or a file that the daemon never writes to again and keeps linked or unlinked but never truncated.
@safe final class FileMap: @unchecked Sendable {
    private let start: UnsafeRawPointer
    private let count: Int

    /// - Throws: `badReply` when it is no file, or shorter than it should be, `noSpace` when there are no addresses for it.
    init(_ file: OwnedDescriptor, bytes: Int) throws(KuraError) {
        var status = stat()
        // Safety: the kernel fills one `stat`, which is ours.
        guard unsafe fstat(file.number, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
            Int(status.st_size) >= bytes
        else {
            throw KuraError(.badReply, "the descriptor is no file with as many bytes as the blob", method: "blobs.get")
        }
        // Safety: a new map of its own; its address is looked at before it is used.
        let map = unsafe mmap(nil, bytes, PROT_READ, MAP_PRIVATE, file.number, 0)
        // Safety: only compared, with MAP_FAILED.
        guard let map = unsafe map, unsafe map != UnsafeMutableRawPointer(bitPattern: -1) else {
            throw KuraError(
                .noSpace, "the blob of \(bytes) bytes cannot be mapped (error \(errno))", method: "blobs.get",
                advice: "Let other blobs go first.")
        }
        unsafe start = UnsafeRawPointer(map)
        count = bytes
    }

    deinit {
        // Safety: the map is ours, and nobody is lent it any more, since they would hold the object.
        unsafe munmap(UnsafeMutableRawPointer(mutating: start), count)
    }

    func withBytes<Result, Failure: Error>(_ body: (RawSpan) throws(Failure) -> Result) throws(Failure) -> Result {
        defer { withExtendedLifetime(self) {} }
        // Safety: the map has `count` bytes and lasts as long as this object, which is held for the call; a span cannot outlive it.
        let bytes = unsafe RawSpan(_unsafeStart: start, byteCount: count)
        return try body(bytes)
    }
}
