import KuraBytes

/// The format of a patch: it describes a new value by pieces of the old one, its base, and by the bytes that are new. All numbers are little endian:
///
///     0   u64 revision of the base
///     8   u32 bytes of the new value
///     12  u32 CRC-32C of the new value
///     16      pieces, one behind the other
///
/// A piece is three numbers followed by the new bytes. Each number is LEB128: seven bits a byte, the lowest first, and the high bit of a byte says
/// that another byte follows:
///
///     bytes of the base to copy, bytes of the base to skip, bytes that are new
///
/// The reader checks the result's length and CRC-32C, and rejects a value that another version would have applied differently.
enum ValuePatch {
    static let headLength = 16
    /// After a difference, the number of bytes in which the encoder looks for the next common run.
    private static let window = 64
    /// The shortest common run, in bytes, at which a piece may end.
    private static let anchor = 16
    /// The most pieces of a patch. A value with more differences is logged whole, which bounds the encoder's time.
    private static let mostPieces = 64

    /// Appends the patch that turns `base` into `value`.
    /// `limit`: the patch's greatest length in bytes.
    /// - Returns: false if the patch would be longer or have too many pieces; then nothing is appended.
    static func append(
        from base: Bytes, rev: UInt64, to value: Bytes, limit: Int, into buffer: inout ByteBuffer
    ) -> Bool {
        let start = buffer.count
        buffer.append(littleEndian: rev)
        buffer.append(littleEndian: UInt32(value.count))
        buffer.append(littleEndian: SegmentFormat.sum(value))
        var (old, new) = (0, 0)
        var stays = base.commonPrefix(value, from: 0, 0)
        let ends = base.commonSuffix(value, from: stays, stays)
        // What lies before the common end.
        let (oldPart, newPart) = (base.extracting(0..<base.count - ends), value.extracting(0..<value.count - ends))
        for _ in 0..<mostPieces {
            let (oldEnd, newEnd) = next(oldPart, old + stays, newPart, new + stays)
            let comes = newPart.extracting(new + stays..<newEnd)
            guard buffer.count - start + comes.count < limit else { break }
            append(stays, oldEnd - old - stays, comes, to: &buffer)
            (old, new) = (oldEnd, newEnd)
            if old == oldPart.count, new == newPart.count {
                if ends > 0 { append(ends, 0, Bytes(), to: &buffer) }
                if buffer.count - start <= limit { return true }
                break
            }
            stays = oldPart.commonPrefix(newPart, from: old, new)
        }
        buffer.truncate(to: start)
        return false
    }

    /// Where two values that differ at `old` and `new` go on alike; their ends, when they do not soon.
    private static func next(_ base: Bytes, _ old: Int, _ value: Bytes, _ new: Int) -> (old: Int, new: Int) {
        let mostGoes = min(window, base.count - old - anchor)
        let mostComes = min(window, value.count - new - anchor)
        guard mostGoes >= 0, mostComes >= 0 else { return (base.count, value.count) }
        for distance in 0...mostGoes + mostComes {
            for goes in max(0, distance - mostComes)...min(distance, mostGoes) {
                let comes = distance - goes
                guard
                    base.loadUnaligned(fromByteOffset: old + goes, as: UInt64.self)
                        == value.loadUnaligned(fromByteOffset: new + comes, as: UInt64.self),
                    base.loadUnaligned(fromByteOffset: old + goes + 8, as: UInt64.self)
                        == value.loadUnaligned(fromByteOffset: new + comes + 8, as: UInt64.self)
                else { continue }
                return (old + goes, new + comes)
            }
        }
        return (base.count, value.count)
    }

    private static func append(_ stays: Int, _ goes: Int, _ comes: Bytes, to buffer: inout ByteBuffer) {
        for var number in [stays, goes, comes.count] {
            while number > 0x7F {
                buffer.append(UInt8(truncatingIfNeeded: number) | 0x80)
                number >>= 7
            }
            buffer.append(UInt8(number))
        }
        buffer.append(comes)
    }

    /// The revision of the value that a patch goes by; nil when the bytes are none.
    static func base(of patch: Bytes) -> UInt64? {
        patch.count >= headLength ? patch.littleEndian(0, UInt64.self) : nil
    }

    /// Puts the new value together.
    /// - Returns: false when that is not what it was; then `value` is of no use.
    static func apply(_ patch: Bytes, to base: Bytes, into value: inout ByteBuffer) -> Bool {
        value.removeAll()
        guard patch.count >= headLength else { return false }
        let length = Int(patch.littleEndian(8, UInt32.self))
        value.reserve(min(length, base.count + patch.count))
        var position = headLength
        var old = 0
        func number() -> Int? {
            var result = 0
            var shift = 0
            while position < patch.count, shift < 35 {
                let byte = patch[position]
                position += 1
                result |= Int(byte & 0x7F) << shift
                if byte & 0x80 == 0 { return result }
                shift += 7
            }
            return nil
        }
        while position < patch.count {
            guard let stays = number(), let goes = number(), let comes = number(),
                stays + goes <= base.count - old, comes <= patch.count - position,
                value.count + stays + comes <= length
            else { return false }
            value.append(base.extracting(old..<old + stays))
            value.append(patch.extracting(position..<position + comes))
            old += stays + goes
            position += comes
        }
        return value.count == length && SegmentFormat.sum(value.bytes) == patch.littleEndian(12, UInt32.self)
    }
}
