/// Takes a blob's content piece by piece. Nothing is seen before `commit`; one that is let go without it leaves nothing behind.
///
/// The pieces belong to one connection: when it is lost they are, too, and the next call throws `uploadNotFound`.
public actor BlobWriter {
    /// Longer pieces are sent as several.
    static let pieceBytes = 3 << 18

    private let cache: BlobCache
    private let key: String
    private let variant: String?
    private let upload: String
    /// Bytes that have been taken.
    public private(set) var count = 0
    private var hasEnded = false
    /// Writes keep their order, though an actor lets others in while one waits.
    private var last: Task<Result<Void, KuraError>, Never>?

    init(cache: BlobCache, key: String, variant: String?, upload: String) {
        self.cache = cache
        self.key = key
        self.variant = variant
        self.upload = upload
    }

    /// Adds a piece, of any length.
    /// - Throws: `uploadNotFound` when the writer has ended or its connection was lost; `valueTooLarge` when there are more bytes than were said.
    public func write(_ bytes: [UInt8]) async throws(KuraError) {
        guard !hasEnded else { throw ended }
        let before = last
        let task = Task { () -> Result<Void, KuraError> in
            if let before, case .failure(let error) = await before.value { return .failure(error) }
            do throws(KuraError) {
                try await self.send(bytes)
                return .success(())
            } catch {
                return .failure(error)
            }
        }
        last = task
        try await task.value.get()
    }

    private func send(_ bytes: [UInt8]) async throws(KuraError) {
        var start = 0
        while start < bytes.count {
            let end = min(start + Self.pieceBytes, bytes.count)
            var parameters = ParameterText()
            parameters.add("upload", upload)
            parameters.add("offset", count)
            parameters.add("data", json: BlobCache.base64(Array(bytes[start..<end])))
            _ = try await cache.kura.call("blobs.appendUpload", parameters)
            count += end - start
            start = end
        }
    }

    /// Makes what has come the blob.
    /// - Parameter digest: BLAKE2b-256 that it has to have, in hexadecimal.
    /// - Returns: whether the cache took it.
    /// - Throws: `digestMismatch`, or what a piece was refused with; what has come is gone then.
    @discardableResult
    public func commit(digest: String? = nil) async throws(KuraError) -> BlobCache.Outcome {
        guard !hasEnded else { throw ended }
        hasEnded = true
        if let last, case .failure(let error) = await last.value {
            await Self.abort(upload, cache)
            throw error
        }
        var parameters = ParameterText()
        parameters.add("upload", upload)
        parameters.add("digest", digest)
        let answer = try await cache.kura.call("blobs.commitUpload", parameters)
        return try BlobCache.Outcome(answer, key: key, variant: variant, "blobs.commitUpload")
    }

    /// Forgets what has come.
    public func abort() async {
        guard !hasEnded else { return }
        hasEnded = true
        await Self.abort(upload, cache)
    }

    private static func abort(_ upload: String, _ cache: BlobCache) async {
        var parameters = ParameterText()
        parameters.add("upload", upload)
        // Also for a task that was cancelled.
        await Task { [parameters] in _ = try? await cache.kura.call("blobs.abortUpload", parameters) }.value
    }

    private var ended: KuraError {
        KuraError(.uploadNotFound, "the writer of \(key) has ended", method: "blobs.appendUpload")
    }

    deinit {
        if hasEnded { return }
        let (upload, cache) = (upload, cache)
        Task { await Self.abort(upload, cache) }
    }
}
