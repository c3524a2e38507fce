import KuraBytes
import Sodium
import Testing

@testable import KuraStorage

@Suite struct KeySlotsTests {
    private let root: SecretKey
    private let slotKeys: [SecretKey]
    private let slots: KeySlots

    init() throws {
        root = try SecretKey()
        slotKeys = [try SecretKey(), try SecretKey()]
        var slots = KeySlots(
            storeID: Randomness.bytes(16), epoch: 3, nextID: 8, sealedLasting: [], slots: [], retired: [])
        slots.sealLasting(try SecretKey(), under: root)
        let hashing = KeySlot.Hashing(
            parameters: try .init(passes: 3, memoryBytes: 64 << 20), salt: Randomness.bytes(16))
        let first = KeySlot(
            id: 2, kind: .keyFile, label: [], createdAt: 1_700_000_000_000, hashing: nil, sealedRoot: [])
        let second = KeySlot(
            id: 7, kind: .passphrase, label: Array("the \"safe\" \\ é".utf8), createdAt: 1, hashing: hashing,
            sealedRoot: [])
        slots.slots = [
            slots.sealing(root, in: first, under: slotKeys[0]), slots.sealing(root, in: second, under: slotKeys[1]),
        ]
        slots.retire(try SecretKey(), epoch: 1, under: root)
        slots.retire(try SecretKey(), epoch: 2, under: root)
        self.slots = slots
    }

    private func fault(_ text: [UInt8]) -> Bool {
        do throws(KeysFault) { _ = try KeySlots(reading: text) } catch {
            if case .damaged = error { return true }
        }
        return false
    }

    @Test func `what is written is read back, and opens`() throws {
        let text = try slots.text(root: root)
        let read = try KeySlots(reading: text)
        #expect(read == slots)
        #expect(try read.text(root: root) == text)
        for (slot, key) in zip(read.slots, slotKeys) { #expect(try read.root(in: slot, under: key).equals(root)) }
        let opened = try OpenedKeys(read, text: text, root: root)
        #expect(opened.roots.map(\.epoch) == [1, 2, 3])
        #expect(String(decoding: text, as: UTF8.self).hasPrefix("{\"format\":1,\"storeId\":\""))
    }

    @Test func `lasting keys that rotations have added are read back, in a format of their own`() throws {
        var slots = slots
        let keys = [try SecretKey(), try SecretKey()]
        for (epoch, key) in zip([2, 3] as [UInt32], keys) { slots.addRecent(key, epoch: epoch, under: root) }
        let text = try slots.text(root: root)
        #expect(String(decoding: text, as: UTF8.self).hasPrefix("{\"format\":2,\"storeId\":\""))
        let read = try KeySlots(reading: text)
        #expect(read == slots)
        let opened = try OpenedKeys(read, text: text, root: root)
        #expect(opened.recent.map(\.epoch) == [2, 3])
        #expect(zip(opened.recent, keys).allSatisfy { $0.key.equals($1) })
        for position in text.indices {
            var other = text
            other[position] ^= 1
            #expect(fault(other), "byte \(position)")
        }
    }

    @Test func `any byte that is another one, any cut and any addition is damage`() throws {
        let text = try slots.text(root: root)
        for position in text.indices {
            for bit in 0..<8 {
                var other = text
                other[position] ^= 1 << UInt8(bit)
                #expect(fault(other), "byte \(position), bit \(bit)")
            }
        }
        for count in 0..<text.count { #expect(fault(Array(text[..<count]))) }
        for more in [[0], [0x0A], Array("x".utf8)] { #expect(fault(text + more)) }
    }

    /// The text with another in the place of a part, and a digest that fits again: what somebody without the key can make.
    private func forged(_ part: String, _ other: String) throws -> [UInt8] {
        let text = String(decoding: try slots.text(root: root), as: UTF8.self)
        let body = String(text.split(separator: ",\"digest\":")[0]).replacing(part, with: other)
        var hash = GenericHash()
        body.withBytes { hash.update($0) }
        var digest = ByteBuffer()
        hash.finish().withBytes { digest.append(hexadecimal: $0) }
        return Array("\(body),\"digest\":\"\(String(digest.bytes))\"}\n".utf8)
    }

    @Test func `who has no key changes nothing unnoticed, even with a digest that fits`() throws {
        for (part, other) in [
            ("the \\\"safe\\\"", "the \\\"door\\\""), ("\"createdAt\":1,", "\"createdAt\":2,"),
            ("\"nextSlot\":8", "\"nextSlot\":9"), ("\"passes\":3", "\"passes\":1"),
            ("\"memoryBytes\":67108864", "\"memoryBytes\":8388608"), ("\"kind\":\"keyFile\"", "\"kind\":\"container\""),
            ("\"epoch\":3", "\"epoch\":4"),
        ] {
            let text = try forged(part, other)
            let read = try KeySlots(reading: text)
            #expect(read != slots)
            #expect(throws: KeysFault.damaged("somebody without the key has changed it")) {
                try OpenedKeys(read, text: text, root: root)
            }
        }
    }

    @Test func `a slot's key opens it only where and as it was made`() throws {
        let first = slots.slots[0]
        func changed(_ change: (inout KeySlots, inout KeySlot) -> Void) -> Bool {
            var (slots, slot) = (slots, first)
            change(&slots, &slot)
            return (try? slots.root(in: slot, under: slotKeys[0])) == nil
        }
        #expect(!changed { _, _ in })
        #expect(changed { _, slot in slot.id = 3 })
        #expect(changed { _, slot in slot.kind = .container })
        #expect(changed { slots, _ in slots.storeID[0] ^= 1 })
        #expect(changed { slots, _ in slots.epoch = 2 })
        #expect(changed { _, slot in slot.sealedRoot = slots.slots[1].sealedRoot })
        #expect(changed { _, slot in slot.hashing = slots.slots[1].hashing })
        var second = slots.slots[1]
        second.hashing?.salt[0] ^= 1
        #expect(throws: SodiumError.forged) { try slots.root(in: second, under: slotKeys[1]) }
        // Retired roots cannot be taken for one another.
        var swapped = slots.retired[0]
        swapped.epoch = 2
        #expect(throws: SodiumError.forged) { try slots.root(of: swapped, under: root) }
    }

    @Test func `numbers that would take all memory, and lists that never end, are refused before anybody uses them`()
        throws
    {
        for (part, other) in [
            ("\"passes\":3", "\"passes\":4000000"), ("\"memoryBytes\":67108864", "\"memoryBytes\":68719476736"),
            ("\"memoryBytes\":67108864", "\"memoryBytes\":1024"), ("\"passes\":3", "\"passes\":03"),
            ("\"id\":7", "\"id\":2"), ("\"id\":7", "\"id\":8"), ("\"epoch\":2", "\"epoch\":3"),
            ("\"epoch\":2", "\"epoch\":1"),
            ("\"format\":1", "\"format\":2"), ("the \\\"safe\\\"", String(repeating: "x", count: 200)),
        ] {
            #expect(fault(try forged(part, other)), "\(other)")
        }
    }
}
