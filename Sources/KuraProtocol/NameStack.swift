import Glibc

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
    /// Behind a pointer, because a class's own variables are checked for exclusive access each time they change, which was
    /// a third of the cost of reading a request.
    private struct Storage {
        var entries: UnsafeMutablePointer<Entry>
        var capacity: Int
        var count = 0

        init(capacity: Int) {
            entries = .allocate(capacity: capacity)
            self.capacity = capacity
        }
    }
    private let storage: UnsafeMutablePointer<Storage>
    private var scratch = ByteBuffer()
    private var otherScratch = ByteBuffer()
    private let seed: UInt64

    public init() {
        storage = .allocate(capacity: 1)
        storage.initialize(to: Storage(capacity: 64))
        seed = UInt64.random(in: 1...UInt64.max)
    }

    deinit {
        storage.pointee.entries.deallocate()
        storage.deallocate()
    }

    public var count: Int { storage.pointee.count }

    @inline(__always)
    func push(_ name: JSONString) {
        if storage.pointee.count == storage.pointee.capacity { grow() }
        (storage.pointee.entries + storage.pointee.count).initialize(to: Entry(hash: 0, name: name))
        storage.pointee.count += 1
    }

    public func truncate(to mark: Int) {
        storage.pointee.count = mark
        // One hostile object must not pin its memory for ever.
        if mark == 0, storage.pointee.capacity > 65_536 {
            storage.pointee.entries.deallocate()
            storage.pointee = Storage(capacity: 64)
        }
    }

    func hasDuplicate(from mark: Int, in text: UnsafePointer<UInt8>) -> Bool {
        let length = count - mark
        guard length > 1 else { return false }
        let own = storage.pointee.entries + mark
        if length <= 12 {
            for later in 1..<length {
                for earlier in 0..<later where mayBeSame(own[earlier].name, own[later].name, in: text) {
                    if same(own[earlier].name, own[later].name, in: text) { return true }
                }
            }
            return false
        }
        for position in 0..<length {
            own[position].hash = Hash.bytes(resolved(own[position].name, in: text, scratch: &scratch), seed: seed)
        }
        var run = UnsafeMutableBufferPointer(start: own, count: length)
        run.sort { $0.hash < $1.hash }
        for position in 1..<length where own[position - 1].hash == own[position].hash {
            if same(own[position - 1].name, own[position].name, in: text) { return true }
        }
        return false
    }

    /// A cheap look that spares most comparisons.
    @inline(__always)
    private func mayBeSame(_ left: JSONString, _ right: JSONString, in text: UnsafePointer<UInt8>) -> Bool {
        if left.hasEscapes || right.hasEscapes { return true }
        // The byte at `start` is the first of the name or, when it is empty, its closing quote.
        return left.count == right.count && text[Int(left.start)] == text[Int(right.start)]
    }

    private func same(_ left: JSONString, _ right: JSONString, in text: UnsafePointer<UInt8>) -> Bool {
        let first = resolved(left, in: text, scratch: &scratch)
        let second = resolved(right, in: text, scratch: &otherScratch)
        return first.count == second.count
            && (first.count == 0 || memcmp(first.baseAddress!, second.baseAddress!, first.count) == 0)
    }

    private func resolved(
        _ name: JSONString, in text: UnsafePointer<UInt8>, scratch: inout ByteBuffer
    ) -> UnsafeRawBufferPointer {
        let raw = UnsafeRawBufferPointer(start: text + Int(name.start), count: name.count)
        guard name.hasEscapes else { return raw }
        scratch.removeAll()
        JSONText.unescape(raw, into: &scratch)
        return scratch.bytes
    }

    private func grow() {
        var larger = Storage(capacity: storage.pointee.capacity * 2)
        larger.count = storage.pointee.count
        larger.entries.moveInitialize(from: storage.pointee.entries, count: larger.count)
        storage.pointee.entries.deallocate()
        storage.pointee = larger
    }
}

/// Seeded hash of short byte runs, by folded multiplication (the construction of wyhash, Wang Yi, 2019).
public enum Hash {
    public static func bytes(_ bytes: UnsafeRawBufferPointer, seed: UInt64) -> UInt64 {
        var state = seed ^ 0x9E37_79B9_7F4A_7C15 ^ UInt64(truncatingIfNeeded: bytes.count)
        guard var cursor = bytes.baseAddress else { return fold(state, 0xD6E8_FEB8_6659_FD93) }
        var left = bytes.count
        while left >= 8 {
            state = fold(state ^ cursor.loadUnaligned(as: UInt64.self), 0xA076_1D64_78BD_642F)
            cursor += 8
            left -= 8
        }
        return fold(state ^ tail(cursor, left), 0xE703_7ED1_A0B4_28DB ^ seed)
    }

    /// The last `count` bytes, fewer than eight, as one number; which bytes go where does not matter, as long as all do.
    @inline(__always)
    static func tail(_ bytes: UnsafeRawPointer, _ count: Int) -> UInt64 {
        if count >= 4 {
            let low = bytes.loadUnaligned(as: UInt32.self)
            let high = bytes.loadUnaligned(fromByteOffset: count - 4, as: UInt32.self)
            return UInt64(low) | UInt64(high) << 32
        }
        guard count > 0 else { return 0 }
        let first = bytes.load(as: UInt8.self)
        let middle = bytes.load(fromByteOffset: count / 2, as: UInt8.self)
        let last = bytes.load(fromByteOffset: count - 1, as: UInt8.self)
        return UInt64(first) | UInt64(middle) << 8 | UInt64(last) << 16
    }

    @inline(__always)
    static func fold(_ left: UInt64, _ right: UInt64) -> UInt64 {
        let product = left.multipliedFullWidth(by: right)
        return product.high ^ product.low
    }
}
