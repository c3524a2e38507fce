import KuraBytes

/// The names of all objects that are open while a text is read, so that a repeated one is found.
///
/// Names are compared after their escapes are resolved. Those of small objects are compared as they stand; of larger ones by
/// a hash under a secret seed, verified when two agree, so that an object costs n·log n however its names are chosen. Used
/// by one thread.
public final class NameStack {
    private struct Entry {
        var hash: UInt64
        var name: JSONString
    }
    private let entries = Cell(GrowingRow<Entry>())
    private var scratch = ByteBuffer()
    private var otherScratch = ByteBuffer()
    private let seed: UInt64

    public init() {
        seed = UInt64.random(in: 1...UInt64.max)
    }

    public var count: Int { entries.pointee.count }

    @inline(__always)
    func push(_ name: JSONString) {
        entries.pointee.append(Entry(hash: 0, name: name))
    }

    public func truncate(to mark: Int) {
        entries.pointee.truncate(to: mark)
        // One hostile object must not pin its memory for ever.
        if mark == 0, entries.pointee.capacity > 65_536 { entries.pointee.releaseMemory() }
    }

    func hasDuplicate(from mark: Int, in text: Bytes) -> Bool {
        let length = count - mark
        guard length > 1 else { return false }
        if length <= 12 {
            let own = entries.pointee.values(from: mark)
            for later in 1..<length {
                for earlier in 0..<later where mayBeSame(own[earlier].name, own[later].name, in: text) {
                    if same(own[earlier].name, own[later].name, in: text) { return true }
                }
            }
            return false
        }
        for position in mark..<count {
            let name = entries.pointee[position].name
            entries.pointee[position].hash = Hash.bytes(resolved(name, in: text, scratch: &scratch), seed: seed)
        }
        entries.pointee.sort(from: mark) { $0.hash < $1.hash }
        let own = entries.pointee.values(from: mark)
        for position in 1..<length where own[position - 1].hash == own[position].hash {
            if same(own[position - 1].name, own[position].name, in: text) { return true }
        }
        return false
    }

    /// A cheap look that spares most comparisons.
    @inline(__always)
    private func mayBeSame(_ left: JSONString, _ right: JSONString, in text: Bytes) -> Bool {
        if left.hasEscapes || right.hasEscapes { return true }
        // The byte at `start` is the first of the name or, when it is empty, its closing quote.
        return left.count == right.count && text[Int(left.start)] == text[Int(right.start)]
    }

    private func same(_ left: JSONString, _ right: JSONString, in text: Bytes) -> Bool {
        let first = resolved(left, in: text, scratch: &scratch)
        let second = resolved(right, in: text, scratch: &otherScratch)
        return first.equals(second)
    }

    private func resolved(
        _ name: JSONString, in text: Bytes, scratch: inout ByteBuffer
    ) -> Bytes {
        let raw = text.extracting(Int(name.start)..<Int(name.end))
        guard name.hasEscapes else { return raw }
        scratch.removeAll()
        JSONText.unescape(raw, into: &scratch)
        return scratch.bytes
    }
}
