import KuraBytes
import KuraProtocol
import Sodium

/// Replaces values by others of the same length and kind. The same value gets the same replacement as long as this object lives, and nobody who
/// has the replacement can tell the value: the key is in no file and goes with the object.
///
/// Texts become letters and digits, as many as the text has bytes, so that names stay names and base64 stays base64. Texts of up to three bytes
/// stay different from one another, longer ones as good as always.
final class Disguise {
    private let key: SecretKey
    private var digest = ByteBuffer(capacity: KeyedHash.digestBytes)

    private static let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8)

    init() throws(SodiumError) {
        key = try SecretKey()
    }

    /// Appends what stands for a JSON value, whose text has been checked: strings and members' names are replaced, numbers keep their length
    /// alone.
    func append(_ value: Bytes, to out: inout ByteBuffer) {
        switch value.first {
        case UInt8(ascii: "\""):
            let storage = WalkStorage()
            defer { storage.wipe() }
            if let text = JSONWalk.string(value, storage: storage) { append(quoted: text, to: &out) }
        case UInt8(ascii: "{"):
            let storage = WalkStorage()
            defer { storage.wipe() }
            var walk = JSONWalk(value, storage: storage)
            out.append(UInt8(ascii: "{"))
            while let (name, inner) = walk.nextMember() {
                out.beginMember()
                append(quoted: name, to: &out)
                out.append(UInt8(ascii: ":"))
                append(inner, to: &out)
            }
            out.append(UInt8(ascii: "}"))
        case UInt8(ascii: "["):
            var walk = JSONWalk(value, storage: WalkStorage())
            out.append(UInt8(ascii: "["))
            while let element = walk.nextElement() {
                out.beginElement()
                append(element, to: &out)
            }
            out.append(UInt8(ascii: "]"))
        case UInt8(ascii: "t"), UInt8(ascii: "f"), UInt8(ascii: "n"): out.append(value)
        default:
            let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
            for byte in value { out.append(digits.contains(byte) ? UInt8(ascii: "1") : byte) }
        }
    }

    /// Appends what stands for a text, in quotes.
    func append(quoted text: Bytes, to out: inout ByteBuffer) {
        out.append(UInt8(ascii: "\""))
        append(letters: text, to: &out)
        out.append(UInt8(ascii: "\""))
    }

    /// The same without quotes.
    func append(letters text: Bytes, to out: inout ByteBuffer) {
        guard !text.isEmpty else { return }
        if text.count <= 3, let places = places(of: text) {
            for (index, place) in places.enumerated() {
                out.append(Self.letters[(place + shift(at: index, of: places.count)) % Self.letters.count])
            }
            return
        }
        // What ends as base64 does keeps that, and the letter before it has no bits that nobody reads.
        let padding = text.count % 4 == 0 ? text.reversed().prefix(2).prefix { $0 == UInt8(ascii: "=") }.count : 0
        var random = SplitMix(seed: hash(text))
        for position in 0..<text.count - padding {
            let isLast = padding > 0 && position == text.count - padding - 1
            let place = random.next(below: Self.letters.count)
            out.append(Self.letters[isLast ? place & (padding == 2 ? 0x30 : 0x3C) : place])
        }
        for _ in 0..<padding { out.append(UInt8(ascii: "=")) }
    }

    /// Where a short text's bytes stand among the letters; nil when one is none of them.
    private func places(of text: Bytes) -> [Int]? {
        let places = text.compactMap { Self.letters.firstIndex(of: $0) }
        return places.count == text.count ? places : nil
    }

    /// By how many letters those of short texts are moved on.
    private func shift(at index: Int, of count: Int) -> Int {
        Int([UInt8(count), UInt8(index)].withBytes { hash($0) } % UInt64(Self.letters.count))
    }

    private func hash(_ bytes: Bytes) -> UInt64 {
        digest.removeAll()
        KeyedHash.append(bytes, key: key, to: &digest)
        return digest.bytes.loadUnaligned(as: UInt64.self)
    }
}

/// SplitMix64: letters from the beginning of a hash that nobody can turn back.
///
/// Source: Steele, Lea, Flood, "Fast splittable pseudorandom number generators" (2014).
private struct SplitMix {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next(below bound: Int) -> Int {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return Int((mixed ^ (mixed >> 31)) % UInt64(bound))
    }
}
