import KuraBytes
import Sodium

/// keys/slots.json as text: one JSON object, which is read back exactly as it is written, byte for byte.
///
/// `mac` is a keyed hash of everything before it, under a key that follows from the root key: whoever has not got that cannot change
/// anything here unnoticed. `digest` is the hash of everything before it: damage shows also while nobody has the key. Whoever puts an older
/// file in the place of a newer one is not noticed; SECURITY.md says so.
extension KeySlots {
    private static let context = KeyContext("slotfile")

    /// The text, authenticated with what follows from `root`, the newest root key.
    func text(root: SecretKey) throws(SodiumError) -> [UInt8] {
        var text = ByteBuffer()
        append(to: &text)
        var mac = ByteBuffer()
        KeyedHash.append(text.bytes, key: try root.derive(Self.context, id: UInt64(epoch)), to: &mac)
        text.append(",\"mac\":\"")
        text.append(hexadecimal: mac.bytes)
        text.append("\"")
        let digest = Self.digest(text.bytes)
        text.append(",\"digest\":\"")
        digest.withBytes { text.append(hexadecimal: $0) }
        text.append("\"}\n")
        return [UInt8](text.bytes)
    }

    /// Whether the text that was read was written by somebody with the root key.
    static func isAuthentic(_ text: [UInt8], _ slots: KeySlots, root: SecretKey) throws(SodiumError) -> Bool {
        guard text.count > tailBytes else { return false }
        let key = try root.derive(context, id: UInt64(slots.epoch))
        return text.withBytes { text in
            let body = text.extracting(0..<text.count - tailBytes)
            var mac = ByteBuffer()
            KeyedHash.append(body, key: key, to: &mac)
            var found = ByteBuffer()
            found.append(hexadecimal: mac.bytes)
            let start = body.count + macName.count
            return ConstantTime.equal(found.bytes, text.extracting(start..<start + 64))
        }
    }

    private static var macName: Bytes { Bytes(",\"mac\":\"") }
    private static var digestName: Bytes { Bytes("\",\"digest\":\"") }
    /// `,"mac":"…","digest":"…"}` and the line's end.
    private static var tailBytes: Int { macName.count + 64 + digestName.count + 64 + 3 }

    private static func digest(_ bytes: Bytes) -> [UInt8] {
        var hash = GenericHash()
        hash.update(bytes)
        return hash.finish()
    }

    /// Everything but `mac` and `digest`.
    private func append(to text: inout ByteBuffer) {
        // What a version that knows no recent keys can read stays as it was.
        text.append(recent.isEmpty ? "{\"format\":1,\"storeId\":\"" : "{\"format\":2,\"storeId\":\"")
        storeID.withBytes { text.append(hexadecimal: $0) }
        text.append("\",\"epoch\":")
        text.append(decimal: Int64(epoch))
        text.append(",\"nextSlot\":")
        text.append(decimal: Int64(nextID))
        text.append(",\"lasting\":\"")
        sealedLasting.withBytes { text.append(hexadecimal: $0) }
        text.append("\"")
        if !recent.isEmpty { Self.append(recent, called: ",\"recent\":[", to: &text) }
        text.append(",\"slots\":[")
        for (index, slot) in slots.enumerated() {
            if index > 0 { text.append(",") }
            text.append(slot)
        }
        text.append("]")
        Self.append(retired, called: ",\"retired\":[", to: &text)
    }

    private static func append(_ keys: [RetiredRoot], called name: StaticString, to text: inout ByteBuffer) {
        text.append(name)
        for (index, key) in keys.enumerated() {
            if index > 0 { text.append(",") }
            text.append("{\"epoch\":")
            text.append(decimal: Int64(key.epoch))
            text.append(",\"key\":\"")
            key.sealedRoot.withBytes { text.append(hexadecimal: $0) }
            text.append("\"}")
        }
        text.append("]")
    }

    // MARK: Reading

    package static let newestFormat = 2

    /// The number of the text's format. Nil when it says none, or is damaged: the end of a later format need not be this one's, but where it is,
    /// its digest fits.
    package static func format(of text: [UInt8]) -> Int? {
        let beginning = Array("{\"format\":".utf8)
        guard text.starts(with: beginning) else { return nil }
        let digits = text.dropFirst(beginning.count).prefix { $0 >= 0x30 && $0 <= 0x39 }
        guard digits.count < 8, let number = Int(String(decoding: digits, as: UTF8.self)), number > 0 else {
            return nil
        }
        let isDamaged = text.withBytes { text in
            guard let (covered, digest) = split(text) else { return false }
            return digest != Self.digest(covered)
        }
        return isDamaged ? nil : number
    }

    /// What the digest at the text's end is of, and the digest; nil when that end is not what `text` writes.
    private static func split(_ text: Bytes) -> (covered: Bytes, digest: [UInt8])? {
        guard text.count > tailBytes else { return nil }
        let covered = text.extracting(0..<text.count - 3 - 64 - digestName.count + 1)
        var tail = SlotTextReader(text.extracting(covered.count..<text.count))
        guard tail.take(",\"digest\":\""), let digest = tail.hexadecimal(count: 32), tail.take("\"}\n"), tail.isAtEnd
        else { return nil }
        return (covered, digest)
    }

    /// - Throws: what is wrong with the text. It is damaged as soon as one byte of it is not what `text` writes.
    package init(reading text: [UInt8]) throws(KeysFault) {
        self = try text.withBytes { (text) throws(KeysFault) in
            guard text.count > Self.tailBytes else { throw .damaged("it is too short") }
            guard let (covered, digest) = Self.split(text) else { throw .damaged("its end is not what was written") }
            guard digest == Self.digest(covered) else { throw .damaged("its digest does not fit it") }
            var reader = SlotTextReader(covered)
            guard let slots = reader.slots(), reader.take(",\"mac\":\""), reader.hexadecimal(count: 32) != nil,
                reader.take("\""), reader.isAtEnd
            else { throw .damaged("it says something that is not understood") }
            return slots
        }
    }
}

/// Reads what `KeySlots.text` writes, and nothing else.
private struct SlotTextReader {
    private let text: Bytes
    private var position = 0

    init(_ text: Bytes) { self.text = text }

    var isAtEnd: Bool { position == text.count }

    mutating func take(_ words: StaticString) -> Bool {
        let words = Bytes(words)
        guard text.count - position >= words.count,
            text.extracting(position..<position + words.count).equals(words)
        else { return false }
        position += words.count
        return true
    }

    mutating func number(_ range: ClosedRange<Int64>) -> Int64? {
        let start = position
        var value: Int64 = 0
        while position < text.count, text[position] >= 0x30, text[position] <= 0x39, position - start < 18 {
            value = value * 10 + Int64(text[position] - 0x30)
            position += 1
        }
        guard position > start, position - start == 1 || text[start] != 0x30, range.contains(value) else { return nil }
        return value
    }

    /// Lower-case digits only: every value has one text.
    mutating func hexadecimal(count: Int) -> [UInt8]? {
        guard text.count - position >= count * 2 else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count)
        for _ in 0..<count {
            guard let high = Self.digit(text[position]), let low = Self.digit(text[position + 1]) else { return nil }
            bytes.append(high << 4 | low)
            position += 2
        }
        return bytes
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case 0x30...0x39: byte - 0x30
        case 0x61...0x66: byte - 0x61 + 10
        default: nil
        }
    }

    /// A string in which only quotes and backslashes are escaped.
    mutating func string(atMost limit: Int) -> [UInt8]? {
        var bytes: [UInt8] = []
        while position < text.count, bytes.count <= limit {
            var byte = text[position]
            position += 1
            if byte == UInt8(ascii: "\"") {
                return String(validating: bytes, as: UTF8.self) == nil ? nil : bytes
            }
            if byte == UInt8(ascii: "\\") {
                guard position < text.count else { return nil }
                byte = text[position]
                guard byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") else { return nil }
                position += 1
            } else if byte < 0x20 {
                return nil
            }
            bytes.append(byte)
        }
        return nil
    }

    mutating func slots() -> KeySlots? {
        guard take("{\"format\":"), let format = number(1...Int64(KeySlots.newestFormat)),
            take(",\"storeId\":\""), let storeID = hexadecimal(count: KeySlots.storeIDBytes),
            take("\",\"epoch\":"), let epoch = number(1...Int64(UInt32.max)), take(",\"nextSlot\":"),
            let nextID = number(2...Int64(UInt32.max)), take(",\"lasting\":\""),
            let lasting = hexadecimal(count: AEAD.sealedKeyBytes), take("\"")
        else { return nil }
        var result = KeySlots(
            storeID: storeID, epoch: UInt32(epoch), nextID: UInt32(nextID), sealedLasting: lasting, slots: [],
            retired: [])
        if format > 1 {
            guard take(",\"recent\":["),
                let recent = keys(atMost: KeySlots.mostRecent, upTo: result.epoch), !recent.isEmpty
            else { return nil }
            result.recent = recent
        }
        guard take(",\"slots\":[") else { return nil }
        repeat {
            guard result.slots.count < KeySlots.mostSlots, let slot = slot(), slot.id < result.nextID,
                slot.id > result.slots.last?.id ?? 0
            else { return nil }
            result.slots.append(slot)
        } while take(",")
        guard take("],\"retired\":["), let retired = keys(atMost: KeySlots.mostRetired, upTo: result.epoch - 1) else {
            return nil
        }
        result.retired = retired
        return result
    }

    /// Keys with their epochs, which rise, up to the list's end.
    private mutating func keys(atMost limit: Int, upTo epoch: UInt32) -> [KeySlots.RetiredRoot]? {
        var keys: [KeySlots.RetiredRoot] = []
        if take("]") { return keys }
        repeat {
            guard keys.count < limit, take("{\"epoch\":"), let found = number(1...Int64(UInt32.max)),
                UInt32(found) <= epoch, UInt32(found) > keys.last?.epoch ?? 0, take(",\"key\":\""),
                let key = hexadecimal(count: AEAD.sealedKeyBytes), take("\"}")
            else { return nil }
            keys.append(KeySlots.RetiredRoot(epoch: UInt32(found), sealedRoot: key))
        } while take(",")
        return take("]") ? keys : nil
    }

    private mutating func slot() -> KeySlot? {
        guard take("{\"id\":"), let id = number(1...Int64(UInt32.max)), take(",\"kind\":\""),
            let kind = string(atMost: 16).flatMap({ KeySlot.Kind(rawValue: String(decoding: $0, as: UTF8.self)) }),
            take(",\"label\":\""), let label = string(atMost: KeySlot.labelBytes), take(",\"createdAt\":"),
            let createdAt = number(0...Int64(1) << 53)
        else { return nil }
        var hashing: KeySlot.Hashing?
        if kind == .passphrase {
            guard take(",\"passes\":"), let passes = number(1...Int64(Int32.max)), take(",\"memoryBytes\":"),
                let memory = number(1...Int64(1) << 50), take(",\"salt\":\""),
                let salt = hexadecimal(count: PasswordHash.saltBytes), take("\""),
                // Bounded here, before anybody hashes with them.
                let parameters = try? PasswordHash.Parameters(passes: Int(passes), memoryBytes: Int(memory))
            else { return nil }
            hashing = KeySlot.Hashing(parameters: parameters, salt: salt)
        }
        guard take(",\"key\":\""), let sealed = hexadecimal(count: AEAD.sealedKeyBytes), take("\"}") else { return nil }
        return KeySlot(
            id: UInt32(id), kind: kind, label: label, createdAt: createdAt, hashing: hashing, sealedRoot: sealed)
    }
}

extension ByteBuffer {
    fileprivate mutating func append(_ slot: KeySlot) {
        append("{\"id\":")
        append(decimal: Int64(slot.id))
        append(",\"kind\":\"")
        append(text: slot.kind.rawValue)
        append("\",\"label\":\"")
        for byte in slot.label {
            if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { append(UInt8(ascii: "\\")) }
            append(byte)
        }
        append("\",\"createdAt\":")
        append(decimal: slot.createdAt)
        if let hashing = slot.hashing {
            append(",\"passes\":")
            append(decimal: Int64(hashing.parameters.passes))
            append(",\"memoryBytes\":")
            append(decimal: Int64(hashing.parameters.memoryBytes))
            append(",\"salt\":\"")
            hashing.salt.withBytes { append(hexadecimal: $0) }
            append("\"")
        }
        append(",\"key\":\"")
        slot.sealedRoot.withBytes { append(hexadecimal: $0) }
        append("\"}")
    }

    fileprivate mutating func append(decimal number: Int64) { append(text: String(number)) }

    /// Two lower-case digits a byte.
    mutating func append(hexadecimal bytes: Bytes) {
        let digits = Bytes("0123456789abcdef")
        for byte in bytes {
            append(digits[Int(byte >> 4)])
            append(digits[Int(byte & 15)])
        }
    }
}
