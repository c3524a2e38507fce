public import Foundation
public import KuraClient

extension Blob {
    /// A copy of the content, or of a part of it that is cut at its end. `withBytes` lends what is mapped, and copies nothing.
    public func data(_ range: Range<Int>? = nil) -> Data {
        withBytes { bytes in
            let range = (range ?? 0..<bytes.byteCount).clamped(to: 0..<bytes.byteCount)
            // Safety: the part's own bytes, which last for the call.
            return unsafe bytes.extracting(range).withUnsafeBytes { part in unsafe Data(part) }
        }
    }
}

extension BlobInfo {
    /// When it was stored.
    public var created: Date? { Timestamp.date(createdAt) }
    /// When it goes by itself; it may go earlier.
    public var expires: Date? { Timestamp.date(expiresAt) }
}

extension BlobCache {
    /// Stores bytes.
    @discardableResult
    public func put(
        _ data: Data, as key: String, variant: String? = nil, _ attributes: Attributes = Attributes()
    ) async throws(KuraError) -> Outcome {
        try await put([UInt8](data), as: key, variant: variant, attributes)
    }

    /// Stores a file's content, which the daemon copies within the kernel: this process reads nothing of it.
    /// - Parameters:
    ///   - file: a regular file's URL.
    ///   - key: 1 to 512 bytes.
    ///   - variant: which of the blobs derived from it.
    ///   - attributes: what the blob is.
    /// - Returns: whether the cache took it.
    /// - Throws: `CocoaError` when the file cannot be opened; else a `KuraError`: `transferFailed` when it is no regular file, or changed meanwhile.
    @discardableResult
    public func put(
        contentsOf file: URL, as key: String, variant: String? = nil, _ attributes: Attributes = Attributes()
    ) async throws -> Outcome {
        let handle = try FileHandle(forReadingFrom: file)
        defer { try? handle.close() }
        guard let own = OwnedDescriptor(duplicating: handle.fileDescriptor) else { throw CocoaError(.fileReadUnknown) }
        return try await put(file: own, as: key, variant: variant, attributes)
    }

    /// Writes a blob's content to a file, which has all of it or is as it was.
    /// - Parameters:
    ///   - key: 1 to 512 bytes.
    ///   - variant: which of the blobs derived from it.
    ///   - file: the URL of the file, new or to be replaced, in a directory that is there.
    /// - Returns: whether there is such a blob; otherwise nothing is written.
    /// - Throws: `CocoaError` or `POSIXError` when the file cannot be written; else a `KuraError`.
    @discardableResult
    public func export(_ key: String, variant: String? = nil, to file: URL) async throws -> Bool {
        guard let blob = try await get(key, variant: variant) else { return false }
        let draft = file.deletingLastPathComponent().appendingPathComponent(".\(UUID().uuidString).kura")
        do {
            try Data().write(to: draft, options: .withoutOverwriting)
            let handle = try FileHandle(forWritingTo: draft)
            defer { try? handle.close() }
            var start = 0
            while start < blob.count {
                let piece = blob.data(start..<min(start + Self.pieceBytes, blob.count))
                try handle.write(contentsOf: piece)
                start += piece.count
            }
            // Safety: Swift lends both paths as C strings for the call.
            guard unsafe rename(draft.path, file.path) == 0 else {
                throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
            }
        } catch {
            try? FileManager.default.removeItem(at: draft)
            throw error
        }
        return true
    }

    /// Bytes that are in memory at once.
    private static var pieceBytes: Int { 1 << 20 }
}

extension BlobWriter {
    /// Adds a piece, of any length.
    public func write(_ data: Data) async throws(KuraError) { try await write([UInt8](data)) }
}
