import Glibc
import KuraBytes
import SQLite

/// Memory for items: size classes of 32 bytes, cut from 2 MiB pieces for which the kernel is asked to use huge pages.
///
/// A point read of a random key costs little but misses of cache and TLB; with items side by side on huge pages it took a
/// sixth less time than with malloc (100,000 keys of 100 bytes). Freed items are used again for the same size class;
/// pieces are kept. Larger items come from malloc.
///
/// Safety: `state` is only touched under the lock. A block is handed out once until it comes back: fresh ones lie side
/// by side in a piece, freed ones in the list of their size, whose links stand in their own first words. What comes
/// back has the size that it was asked for with.
enum ItemArena {
    private static let granule = 32
    private static let classes = 64
    /// Largest size that is cut from pieces, in bytes.
    #if SANITIZE_ADDRESS
        // Each item is a block of its own, so that AddressSanitizer sees uses of one that is gone.
        static let largest = 0
    #else
        static let largest = granule * classes
    #endif
    private static let pieceSize = 2 << 20

    /// Addresses; 0 is none.
    private struct State {
        var next: UInt = 0
        var end: UInt = 0
        /// Heads of the lists of freed items; an item's first word leads to the next one.
        var free = [UInt](repeating: 0, count: classes + 1)
    }
    // A process may hold several storages, as the tests do; without contention the lock costs one atomic exchange.
    private static let lock = Lock()
    // Safety: only touched while `lock` is held.
    private nonisolated(unsafe) static var state = State()

    /// Bytes that an item of `size` bytes takes.
    static func footprint(_ size: Int) -> Int {
        size <= largest ? (size + granule - 1) & ~(granule - 1) : (size + 8 + 15) & ~15
    }

    static func allocate(_ size: Int) -> UnsafeMutableRawPointer {
        guard size <= largest else {
            guard let memory = unsafe malloc(size) else { fatalError("out of memory") }
            return unsafe memory
        }
        let index = (size + granule - 1) / granule
        let address = lock.withLock {
            let head = unsafe state.free[index]
            if head != 0 {
                unsafe state.free[index] = unsafe UnsafeRawPointer(bitPattern: head)!.load(as: UInt.self)
                return head
            }
            let length = UInt(index * granule)
            if unsafe state.next + length > state.end { unsafe addPiece(&state) }
            defer { unsafe state.next += length }
            return unsafe state.next
        }
        return unsafe UnsafeMutableRawPointer(bitPattern: address)!
    }

    static func release(_ memory: UnsafeMutableRawPointer, _ size: Int) {
        guard size <= largest else {
            unsafe free(memory)
            return
        }
        let index = (size + granule - 1) / granule
        let address = UInt(bitPattern: memory)
        lock.withLock {
            unsafe UnsafeMutableRawPointer(bitPattern: address)!.storeBytes(of: state.free[index], as: UInt.self)
            unsafe state.free[index] = address
        }
    }

    private static func addPiece(_ state: inout State) {
        var memory: UnsafeMutableRawPointer?
        guard unsafe posix_memalign(&memory, pieceSize, pieceSize) == 0, let memory = unsafe memory else {
            fatalError("out of memory")
        }
        // Only a wish: without huge pages everything works as well.
        _ = unsafe madvise(memory, pieceSize, MADV_HUGEPAGE)
        state.next = UInt(bitPattern: memory)
        state.end = state.next + UInt(pieceSize)
    }
}
