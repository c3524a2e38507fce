import CSyscalls
import KuraBytes

/// The bytes of a cache's row in memory: some parts, one behind the other, in one block. Copied in once, never changed.
///
/// Safety: the address comes from `init` and is good until `release`, which the one row that keeps the block calls once; the block has `count` bytes.
@safe
struct CacheBlock: BitwiseCopyable {
    private var address: UInt = 0
    private(set) var count: Int32 = 0

    /// None.
    init() {}

    init(_ first: Bytes, _ second: Bytes = Bytes(), _ third: Bytes = Bytes(), _ fourth: Bytes = Bytes()) {
        let size = first.count + second.count + third.count + fourth.count
        guard size > 0 else { return }
        let memory = unsafe ItemArena.allocate(size)
        var end = 0
        func copy(_ part: Bytes) {
            if let start = unsafe part.baseAddress {
                unsafe (memory + end).copyMemory(from: start, byteCount: part.count)
            }
            end += part.count
        }
        copy(first)
        copy(second)
        copy(third)
        copy(fourth)
        address = UInt(bitPattern: memory)
        count = Int32(size)
    }

    var bytes: Bytes { unsafe Bytes(start: UnsafeRawPointer(bitPattern: address), count: Int(count)) }

    func bytes(_ range: Range<Int>) -> Bytes { bytes.extracting(range) }

    /// Has the first of it fetched, which is read soon; the processor finds out by itself that it is read on.
    func prefetch() {
        var offset: UInt = 0
        let end = UInt(min(count, 512))
        while offset < end {
            unsafe csys_prefetch(UnsafeRawPointer(bitPattern: address + offset))
            offset += 64
        }
    }

    /// Bytes of memory that it takes.
    var footprint: Int { count == 0 ? 0 : ItemArena.footprint(Int(count)) }

    /// Gives the memory back. The block is not used any more.
    func release() {
        if let memory = unsafe UnsafeMutableRawPointer(bitPattern: address) {
            unsafe ItemArena.release(memory, Int(count))
        }
    }
}
