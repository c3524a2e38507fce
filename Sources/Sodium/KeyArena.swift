import CSodium
import Glibc

/// The memory of keys: locked into RAM, left out of core dumps, between pages that nobody may touch.
///
/// A region holds 511 keys at first and 2,047 each time that more is needed: 32 bytes side by side in pages from
/// `sodium_malloc`, which locks them (mlock(2)), has the kernel leave them out of dumps, and puts an inaccessible page before and behind.
/// One allocation a key would take four pages, and fail after some 16,000 keys for want of mappings. A key that goes is zeroed at
/// once and its slot used again; regions stay until the arena goes.
///
/// That the kernel refuses to lock (RLIMIT_MEMLOCK) stops nothing; `LockedMemory` tells.
///
/// Source: libsodium, "Secure memory".
///
/// Safety: `regions` is only touched while `lock` is held. A slot is handed out once until it comes back, which its bit says; regions
/// are never moved, and go with the arena, which every key keeps alive.
@safe
public final class KeyArena: @unchecked Sendable {
    /// The process's arena, where keys are unless somebody says otherwise.
    public static let shared = KeyArena()

    static let slotBytes = 32
    /// Slots of a region: whole pages but for one slot, whose place the canary before the keys takes.
    static let firstSlots = 4 * 4096 / slotBytes - 1
    static let furtherSlots = 16 * 4096 / slotBytes - 1

    /// Safety: the base and the count of slots are of one allocation, which the arena frees.
    @safe
    private struct Region {
        let base: UnsafeMutablePointer<UInt8>
        let slots: Int
        var used = 0
        /// A bit a slot: 1 while a key is there.
        var taken: [UInt64]

        init(base: UnsafeMutablePointer<UInt8>, slots: Int) {
            unsafe self.base = base
            self.slots = slots
            taken = [UInt64](repeating: 0, count: (slots + 63) / 64)
            // What is behind the last slot is never free.
            if slots % 64 != 0 { taken[taken.count - 1] = ~0 << UInt64(slots % 64) }
        }
    }
    private var regions: [Region] = []
    private let lock: UnsafeMutablePointer<pthread_mutex_t>

    public init() {
        Library.start()
        unsafe lock = .allocate(capacity: 1)
        unsafe lock.initialize(to: pthread_mutex_t())
        unsafe pthread_mutex_init(lock, nil)
    }

    deinit {
        // Zeroes them, and stops the program when something was written before or behind the keys.
        for region in regions { unsafe sodium_free(region.base) }
        unsafe pthread_mutex_destroy(lock)
        unsafe lock.deallocate()
    }

    /// Keys that are there.
    public var keyCount: Int {
        locked { regions.reduce(0) { $0 + $1.used } }
    }

    /// Bytes of the regions, in whole pages: what is to be locked.
    public var regionBytes: Int {
        locked { regions.reduce(0) { $0 + ($1.slots + 1) * Self.slotBytes } }
    }

    /// Room for a key, its bytes 0; nil when the system gives no memory.
    func allocate() -> UnsafeMutablePointer<UInt8>? {
        unsafe locked { () -> UnsafeMutablePointer<UInt8>? in
            for index in regions.indices where regions[index].used < regions[index].slots {
                return unsafe take(in: index)
            }
            let slots = regions.isEmpty ? Self.firstSlots : Self.furtherSlots
            guard let memory = unsafe sodium_malloc(slots * Self.slotBytes) else { return nil }
            unsafe sodium_memzero(memory, slots * Self.slotBytes)
            unsafe regions.append(Region(base: memory.assumingMemoryBound(to: UInt8.self), slots: slots))
            return unsafe take(in: regions.count - 1)
        }
    }

    private func take(in index: Int) -> UnsafeMutablePointer<UInt8> {
        let word = regions[index].taken.firstIndex { $0 != ~0 }!
        let bit = (~regions[index].taken[word]).trailingZeroBitCount
        regions[index].taken[word] |= 1 << UInt64(bit)
        regions[index].used += 1
        return unsafe regions[index].base + (word * 64 + bit) * Self.slotBytes
    }

    /// Zeroes a slot and takes it back.
    func release(_ slot: UnsafeMutablePointer<UInt8>) {
        unsafe sodium_memzero(slot, Self.slotBytes)
        locked {
            for index in regions.indices {
                let offset = unsafe slot - regions[index].base
                guard offset >= 0, offset < regions[index].slots * Self.slotBytes else { continue }
                let number = offset / Self.slotBytes
                let bit = UInt64(1) << UInt64(number % 64)
                precondition(regions[index].taken[number / 64] & bit != 0, "a key that has gone already")
                regions[index].taken[number / 64] &= ~bit
                regions[index].used -= 1
                return
            }
            preconditionFailure("a key of another arena")
        }
    }

    private func locked<R>(_ body: () -> R) -> R {
        unsafe pthread_mutex_lock(lock)
        defer { unsafe pthread_mutex_unlock(lock) }
        return body()
    }
}
