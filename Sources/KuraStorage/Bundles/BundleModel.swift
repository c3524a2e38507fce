import KuraBytes

/// A namespace of the model cache, or an entry of the one before it, as a seed bundle keeps them. All numbers are little endian:
///
///     0  u32  bytes that follow this field
///     4  u8   0 a namespace: u16 length of its name, name, configuration (`ModelConfiguration.text`)
///             1 an entry: i64 stored at, u16 length of the key, u16 of the entity tag, u16 of the tags, key, entity tag, tags
///               (names, each behind a byte with its length), value
enum BundleModel {
    case namespace(name: Bytes, configuration: Bytes)
    case entry(Entry)

    struct Entry {
        /// Milliseconds since 1970.
        var storedAt: Int64
        var key: Bytes
        var etag: Bytes
        var tags: Bytes
        var value: Bytes
    }

    func append(to buffer: inout ByteBuffer) {
        switch self {
        case .namespace(let name, let configuration):
            buffer.append(littleEndian: UInt32(3 + name.count + configuration.count))
            buffer.append(UInt8(0))
            buffer.append(littleEndian: UInt16(name.count))
            buffer.append(name)
            buffer.append(configuration)
        case .entry(let entry):
            let parts = [entry.key, entry.etag, entry.tags]
            buffer.append(
                littleEndian: UInt32(15 + parts.reduce(0) { $0 + $1.count } + entry.value.count))
            buffer.append(UInt8(1))
            buffer.append(littleEndian: entry.storedAt)
            for part in parts { buffer.append(littleEndian: UInt16(part.count)) }
            for part in parts { buffer.append(part) }
            buffer.append(entry.value)
        }
    }

    /// Steps through what `append` has made; nil at its end.
    /// - Throws: `malformed` also for what the cache could not have stored.
    static func next(in bytes: Bytes, at offset: inout Int) throws(BackupFault) -> BundleModel? {
        guard offset < bytes.count else { return nil }
        guard bytes.count - offset > 4 else { throw .malformed }
        let length = Int(UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self)))
        guard length > 0, length <= bytes.count - offset - 4 else { throw .malformed }
        let record = bytes.extracting(offset + 4..<offset + 4 + length)
        offset += 4 + length
        func count(_ position: Int) -> Int {
            Int(UInt16(littleEndian: record.loadUnaligned(fromByteOffset: position, as: UInt16.self)))
        }
        switch record[0] {
        case 0:
            guard length >= 3, 1...128 ~= count(1), count(1) <= length - 3 else { throw .malformed }
            let end = 3 + count(1)
            return .namespace(name: record.extracting(3..<end), configuration: record.extracting(end..<length))
        case 1:
            guard length >= 15 else { throw .malformed }
            let (key, etag, tags) = (count(9), count(11), count(13))
            let value = length - 15 - key - etag - tags
            guard 1...ModelsStore.keyLimit ~= key, etag <= ModelsStore.keyLimit, tags <= ModelsStore.tagLimit * 256,
                1...ModelsStore.valueLimit ~= value
            else { throw .malformed }
            var position = 15
            func take(_ count: Int) -> Bytes {
                defer { position += count }
                return record.extracting(position..<position + count)
            }
            return .entry(
                Entry(
                    storedAt: Int64(littleEndian: record.loadUnaligned(fromByteOffset: 1, as: Int64.self)),
                    key: take(key), etag: take(etag), tags: take(tags), value: take(value)))
        default: throw .malformed
        }
    }
}
