import Glibc
import KuraBytes
import Testing

@testable import Sodium

@Suite(.serialized) struct KeyArenaTests {
    @Test func `20,000 keys are there at once, each its own, and are gone when they are let go`() throws {
        let arena = KeyArena()
        var keys: [SecretKey] = []
        for _ in 0..<20_000 { keys.append(try SecretKey(randomIn: arena)) }
        #expect(arena.keyCount == 20_000)
        #expect(Set(keys.map(\.array)).count == 20_000)
        let bytes = arena.regionBytes
        #expect(bytes < 20_000 * 40)
        keys.removeAll()
        #expect(arena.keyCount == 0)
        // What was let go of is used again.
        for _ in 0..<20_000 { keys.append(try SecretKey(randomIn: arena)) }
        #expect(arena.regionBytes == bytes)
    }

    @Test func `a key's memory is zeroed as soon as the key goes`() throws {
        let arena = KeyArena()
        let stays = try SecretKey(randomIn: arena)
        var address: UnsafePointer<UInt8>?
        do {
            let goes = try SecretKey(randomIn: arena)
            address = goes.withAddress { $0 }
            #expect(goes.array != [UInt8](repeating: 0, count: 32))
        }
        #expect((0..<32).allSatisfy { address![$0] == 0 })
        #expect(arena.keyCount == 1)
        _ = stays
    }

    @Test func `a key that could not be made leaves nothing`() throws {
        let arena = KeyArena()
        #expect(throws: SodiumError.malformed) { try [1, 2, 3].withBytes { try SecretKey(copying: $0, in: arena) } }
        var address: UnsafeMutablePointer<UInt8>?
        #expect(throws: SodiumError.forged) {
            try SecretKey(in: arena) { slot in
                slot.update(repeating: 7, count: 32)
                address = slot
                return .forged
            }
        }
        #expect(arena.keyCount == 0)
        #expect((0..<32).allSatisfy { address![$0] == 0 })
    }

    /// write(2) says EFAULT where a load would end the program.
    private func isReadable(_ address: UnsafeRawPointer) -> Bool {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { return false }
        defer { for end in ends { close(end) } }
        return write(ends[1], address, 1) == 1
    }

    @Test func `behind the last key, and before the page of the first, is memory that nobody may touch`() throws {
        let arena = KeyArena()
        let keys = try (0..<KeyArena.firstSlots).map { _ in try SecretKey(randomIn: arena) }
        let addresses = keys.map { $0.withAddress { UnsafeRawPointer($0) } }.sorted { $0 < $1 }
        #expect(addresses.last! - addresses.first! == (KeyArena.firstSlots - 1) * 32)
        #expect(isReadable(addresses.last! + 31))
        #expect(!isReadable(addresses.last! + 32))
        #expect(isReadable(addresses.first!))
        #expect(!isReadable(addresses.first! - 64))
    }

    @Test func `keys come and go on many threads`() async throws {
        let arena = KeyArena()
        await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    var keys: [(SecretKey, [UInt8])] = []
                    for round in 0..<3000 {
                        guard let key = try? SecretKey(randomIn: arena) else { return false }
                        keys.append((key, key.array))
                        if round % 3 == 2 { keys.removeFirst(2) }
                        if let (key, bytes) = keys.first, key.array != bytes { return false }
                    }
                    return keys.allSatisfy { $0.array == $1 }
                }
            }
            for await isWell in group { #expect(isWell) }
        }
        #expect(arena.keyCount == 0)
    }
}

@Suite struct LockedMemoryTests {
    @Test func `VmLck is read from what the kernel says`() {
        let status = Array("Name:\tkurad\nVmPeak:\t   10 kB\nVmLck:\t     132 kB\nVmPin:\t 7 kB\n".utf8)
        #expect(LockedMemory.kibibytes(of: "VmLck:", in: status) == 132)
        #expect(LockedMemory.kibibytes(of: "VmPin:", in: status) == 7)
        #expect(LockedMemory.kibibytes(of: "VmSwap:", in: status) == nil)
        #expect(LockedMemory.kibibytes(of: "VmLck:", in: Array("VmLck:\t kB\n".utf8)) == nil)
    }

    @Test func `an arena without regions is not called locked`() {
        #expect(!LockedMemory.isLocked(KeyArena()))
    }

    @Test func `locked is said when the kernel counts the arena's bytes as locked, and not otherwise`() throws {
        let arena = KeyArena()
        let key = try SecretKey(randomIn: arena)
        let bytes = try #require(LockedMemory.bytes)
        let isLocked = LockedMemory.isLocked(arena)
        #expect(isLocked == (bytes >= arena.regionBytes))
        // What mlock(2) refuses is told.
        let start = key.withAddress { UnsafeMutableRawPointer(mutating: $0) }
        if isLocked {
            let before = try #require(LockedMemory.bytes)
            munlock(start, 1)
            #expect(try #require(LockedMemory.bytes) < before)
        }
    }
}
