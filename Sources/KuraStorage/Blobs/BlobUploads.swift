public import KuraBytes
import SQLite
import Sodium

/// A blob that comes in pieces, over the lines of one connection or several.
///
/// It is known by its token. The loop owns it; a content thread has its draft while it is busy.
public final class BlobUpload: @unchecked Sendable {
    // `draft` is its thread's while it is busy, and the loop's otherwise; what is variable besides is the loop's alone.

    public let token: [UInt8]
    private let namespace: [UInt8]
    private let key: [UInt8]
    private let variant: [UInt8]
    public let put: BlobPut
    /// Bytes that it is to have; nil when nobody said.
    public let bytes: Int?
    public let digest: ContentDigest?
    /// The connection that has begun it, and its role.
    let beginner: UInt64
    public let role: String
    /// The connection that it goes with; nil when it has a lease.
    var owner: UInt64? { leaseSeconds == nil ? beginner : nil }
    /// Seconds that it stays without a piece; nil when it goes with its connection.
    public let leaseSeconds: Int?
    fileprivate(set) var expiresAt: UInt64 = .max
    fileprivate var draft: BlobDraft?
    private let progress = Guarded((received: 0, isBusy: false))

    /// Bytes that have come.
    public var received: Int { progress.withLock { $0.received } }
    /// A thread adds a piece.
    public var isBusy: Bool { progress.withLock { $0.isBusy } }

    /// Most bytes that it can have.
    public var limit: Int { bytes ?? BlobLimits.byteLimit }

    func beginPiece() { progress.withLock { $0.isBusy = true } }

    fileprivate func endPiece() { progress.withLock { $0 = (draft?.bytes ?? 0, false) } }

    fileprivate init(
        token: [UInt8], _ name: BlobName, _ put: BlobPut, bytes: Int?, digest: ContentDigest?, owner: UInt64,
        role: String, leaseSeconds: Int?
    ) {
        self.token = token
        self.role = role
        namespace = Array(name.namespace)
        key = Array(name.key)
        variant = Array(name.variant)
        self.put = put
        self.bytes = bytes
        self.digest = digest
        beginner = owner
        self.leaseSeconds = leaseSeconds
    }
}

/// Blobs that come in pieces. They end with a commit, with their connection or their lease, and with the daemon; nothing is left of them.
public struct BlobUploads {
    private var all: [[UInt8]: BlobUpload] = [:]
    /// Uploads that there can be, and that one connection has begun of them.
    public static let limit = 256
    public static let limitOfOne = 32
    public static let longestLeaseSeconds = 86_400

    private let clock: Clock

    public init(_ clock: Clock) { self.clock = clock }

    public var count: Int { all.count }

    /// How many there may be of those that would be too many with one more of this connection; nil when there may be one more.
    public mutating func limit(of owner: UInt64) -> Int? {
        dropExpired()
        if all.count >= Self.limit { return Self.limit }
        return all.values.count { $0.beginner == owner } >= Self.limitOfOne ? Self.limitOfOne : nil
    }

    /// Begins one.
    /// `owner`: number of the connection that it goes with, unless it has a lease.
    /// `role`: of that connection: no other goes on with it.
    public mutating func begin(
        _ name: BlobName, _ put: BlobPut, bytes: Int?, digest: ContentDigest?, owner: UInt64, role: String,
        leaseSeconds: Int?
    ) -> BlobUpload {
        // 128 bits that nobody guesses.
        let token = Self.token()
        let upload = BlobUpload(
            token: token, name, put, bytes: bytes, digest: digest, owner: owner, role: role,
            leaseSeconds: leaseSeconds)
        all[token] = upload
        extend(upload)
        return upload
    }

    public mutating func find(_ token: Bytes) -> BlobUpload? {
        guard let upload = all[Array(token)] else { return nil }
        guard upload.expiresAt > clock.monotonic || upload.isBusy else {
            all[upload.token] = nil
            return nil
        }
        return upload
    }

    /// A piece has come: the lease begins anew.
    public func extend(_ upload: BlobUpload) {
        guard let seconds = upload.leaseSeconds else { return }
        upload.expiresAt = clock.monotonic.later(by: .nanoseconds(seconds: seconds))
    }

    /// Ends one. A piece that is on its way ends with it.
    public mutating func end(_ upload: BlobUpload) { all[upload.token] = nil }

    /// The connection is gone, and what went with it.
    public mutating func end(of owner: UInt64) {
        guard !all.isEmpty else { return }
        for upload in all.values where upload.owner == owner { all[upload.token] = nil }
    }

    /// Ends those whose lease is over.
    /// - Returns: nanoseconds until the next one's is; nil when none has one.
    @discardableResult
    public mutating func dropExpired() -> UInt64? {
        guard !all.isEmpty else { return nil }
        let time = clock.monotonic
        var next: UInt64?
        for upload in all.values where upload.leaseSeconds != nil && !upload.isBusy {
            if upload.expiresAt <= time {
                all[upload.token] = nil
            } else {
                next = min(next ?? .max, upload.expiresAt - time)
            }
        }
        return next
    }

    private static func token() -> [UInt8] {
        let digits = Array("0123456789abcdef".utf8)
        return Randomness.bytes(16).flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
    }
}

/// Adds a piece to an upload, on a content thread.
public final class BlobAppend: TableQuery, @unchecked Sendable {
    // Has one user at a time, as the pool sees to.
    private var text: [UInt8]?
    public let upload: BlobUpload
    private let files: BlobFiles
    private let configuration: StorageConfiguration
    public private(set) var fault: ContentFault?
    /// Bytes that the upload has now.
    public private(set) var received = 0
    public let bound: BlobBound

    init(
        _ text: [UInt8], _ upload: BlobUpload, within bound: BlobBound, _ files: BlobFiles,
        _ configuration: StorageConfiguration
    ) {
        self.bound = bound
        self.text = text
        self.upload = upload
        self.files = files
        self.configuration = configuration
    }

    public var foldedTo: UInt64 { 0 }

    public func run(_ tables: TableReader) {
        do throws(ContentFault) { try add() } catch { fault = error }
        received = upload.draft?.bytes ?? 0
        text = nil
        upload.endPiece()
    }

    private func add() throws(ContentFault) {
        guard let text else { throw .failed }
        var piece = ByteBuffer(capacity: text.count / 4 * 3)
        guard text.withBytes({ Base64.decode($0, into: &piece) }) else { throw .badBase64 }
        guard (upload.draft?.bytes ?? 0) + piece.count <= bound.bytes else { throw .tooLarge }
        do throws(StorageFault) {
            if upload.draft == nil { upload.draft = try BlobDraft(configuration, files, isUpload: true) }
        } catch { throw error.isFull ? .noSpace : .failed }
        try upload.draft?.append(piece.bytes, within: bound)
    }
}

extension BlobUpload {
    /// Lends the name that it was begun with.
    public func withName<R, E: Error>(_ body: (BlobName) throws(E) -> R) throws(E) -> R {
        try namespace.withBytes { (namespace) throws(E) in
            try key.withBytes { (key) throws(E) in
                try variant.withBytes { (variant) throws(E) in
                    try body(BlobName(namespace: namespace, key: key, variant: variant))
                }
            }
        }
    }

    /// Hands the draft over to whoever makes a blob of it; nil when no piece has come.
    func takeDraft() -> BlobDraft? {
        defer { draft = nil }
        return draft
    }
}
