import CSodium
public import KuraBytes

/// A growable run of bytes that leaves nothing behind: what it held is zeroed when it grows, is emptied, or goes.
///
/// Plaintext is kept in nothing else. It is ordinary memory, not locked: values are too many and too large for that.
///
/// Bytes come in by `append`, or straight from a decoder by `fill`, which lends an ordinary `ByteBuffer` with room enough.
///
/// Safety: addresses are those of the storage's own room; `sodium_memzero` gets the block and its length.
@safe
public struct SecretBuffer: ~Copyable {
    private var storage: ByteBuffer

    public init() { storage = ByteBuffer() }

    /// - Parameter capacity: bytes to have from the start.
    public init(capacity: Int) { storage = ByteBuffer(capacity: capacity) }

    /// A copy of `bytes`, which the caller zeroes where they came from.
    public init(copying bytes: Bytes) {
        storage = ByteBuffer(capacity: max(bytes.count, 1))
        storage.append(bytes)
    }

    deinit {
        Self.zero(storage)
    }

    public var count: Int { storage.count }
    public var isEmpty: Bool { storage.isEmpty }
    /// The bytes as they are now; good until the next mutation.
    public var bytes: Bytes { storage.bytes }

    /// Makes room for `additional` bytes behind the last one. What is moved is zeroed where it was.
    public mutating func reserve(_ additional: Int) {
        guard storage.count + additional > storage.capacity else { return }
        var grown = ByteBuffer(capacity: storage.capacity(reserving: additional))
        grown.append(storage.bytes)
        swap(&storage, &grown)
        Self.zero(grown)
    }

    public mutating func append(_ bytes: Bytes) {
        reserve(bytes.count)
        storage.append(bytes)
    }

    public mutating func append(_ byte: UInt8) {
        reserve(1)
        storage.append(byte)
    }

    /// Appends an integer's bytes, lowest first.
    public mutating func append<T: FixedWidthInteger & BitwiseCopyable>(littleEndian value: T) {
        reserve(MemoryLayout<T>.size)
        storage.append(littleEndian: value)
    }

    /// Lends the storage to a decoder that writes into byte buffers, with room for `most` more bytes.
    ///
    /// The program stops when the decoder has written more, since the storage would have been moved, and its old place not zeroed.
    ///
    /// - Parameters:
    ///   - most: bytes that `body` appends at most.
    ///   - body: appends, and changes nothing that was there.
    /// - Returns: what `body` returns.
    /// - Throws: what `body` throws.
    public mutating func fill<R, E: Error>(atMost most: Int, _ body: (inout ByteBuffer) throws(E) -> R) throws(E) -> R {
        reserve(max(most, 1))
        let room = storage.capacity
        defer { precondition(storage.capacity == room, "a secret outgrew its buffer") }
        return try body(&storage)
    }

    /// Zeroes and forgets everything from `end` on.
    public mutating func truncate(to end: Int) {
        let gone = storage.count - end
        storage.truncate(to: end)
        unsafe sodium_memzero(storage.spare.baseAddress, gone)
    }

    /// Zeroes everything; the memory is kept for what comes next.
    public mutating func removeAll() {
        storage.wipe()
    }

    /// Room for C to fill; `commit` takes it as appended.
    mutating func room(for count: Int) -> UnsafeMutablePointer<UInt8> {
        reserve(max(count, 1))
        return unsafe storage.room(for: count)
    }

    mutating func commit(_ added: Int) { storage.commit(added) }

    /// The whole block, what was never filled included.
    private static func zero(_ storage: borrowing ByteBuffer) {
        let spare = unsafe storage.spare
        guard let behind = spare.baseAddress else { return }
        unsafe sodium_memzero(behind - storage.count, storage.capacity)
    }
}
