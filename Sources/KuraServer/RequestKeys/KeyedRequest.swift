import KuraBytes

/// A write with a request key: the key as it is kept, and the record of what the write was answered.
struct KeyedRequest: ~Copyable {
    private var key = ByteBuffer()
    private var record = ByteBuffer()
    /// The request, or an operation of its transaction, is about secrets: no digest of what it asks for is kept.
    private(set) var isAboutSecrets = false

    /// The record's memory above which it is given back.
    private static let keptBytes = 1 << 16

    /// The key as it is kept; good until the next call. What one role was answered is not for another of the same user: behind a control
    /// character, which no name has, stands the role.
    /// - Parameters:
    ///   - given: the request's.
    ///   - role: the connection's; nil for one that may do everything.
    /// - Returns: the key.
    mutating func key(_ given: Bytes, role: String?) -> Bytes {
        guard let role else { return given }
        key.removeAll()
        key.append(given)
        key.append(0x1F)
        key.append(text: role)
        return key.bytes
    }

    /// The write begins. `isAboutSecrets`: its method is.
    mutating func begin(isAboutSecrets: Bool) { self.isAboutSecrets = isAboutSecrets }

    /// One of the operations is about secrets.
    mutating func meetsSecrets() { isAboutSecrets = true }

    /// Makes the record of a result; good until `end`.
    mutating func record(_ result: Bytes, method: Bytes, digest: Bytes?) -> Bytes {
        record.removeAll()
        RecordedResult.append(result, method: method, digest: digest, to: &record)
        return record.bytes
    }

    /// The record has been stored.
    mutating func end() {
        if record.capacity > Self.keptBytes { record.releaseMemory() }
    }
}
