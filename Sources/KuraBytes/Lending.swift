/// Owners of bytes lend them for a call, and copies are made of what is lent.
///
/// Safety: the standard library keeps an array's elements and a string's text in place until the body returns, and the
/// lifetime rule of `Bytes` says that nobody keeps them longer.
extension Array where Element == UInt8 {
    @inlinable
    public func withBytes<R, E: Error>(_ body: (Bytes) throws(E) -> R) throws(E) -> R {
        try unsafe withUnsafeBufferPointer { (elements) throws(E) -> R in try unsafe body(Bytes(elements)) }
    }

    @inlinable
    public init(_ bytes: Bytes) {
        guard bytes.count > 0, let start = unsafe bytes.baseAddress else {
            self = []
            return
        }
        // Not by `init(unsafeUninitializedCapacity:)`, which looks the array's type up at run time, four times as long as this takes.
        unsafe self.init(UnsafeRawBufferPointer(start: start, count: bytes.count).assumingMemoryBound(to: UInt8.self))
    }
}

/// Safety: as for arrays.
extension ArraySlice where Element == UInt8 {
    @inlinable
    public func withBytes<R, E: Error>(_ body: (Bytes) throws(E) -> R) throws(E) -> R {
        try unsafe withUnsafeBufferPointer { (elements) throws(E) -> R in try unsafe body(Bytes(elements)) }
    }
}

extension String {
    /// The bytes of its UTF-8.
    @inlinable
    public func withBytes<R, E: Error>(_ body: (Bytes) throws(E) -> R) throws(E) -> R {
        try Array(utf8).withBytes(body)
    }

    /// The text of bytes; what is not UTF-8 in them becomes U+FFFD.
    @inlinable
    public init(_ bytes: Bytes) {
        self.init(decoding: bytes, as: UTF8.self)
    }
}
