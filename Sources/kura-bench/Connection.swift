import Glibc

/// A request that is under way: when it should have been sent, and what it was.
struct PendingRequest {
    /// Monotonic nanoseconds: the sending of its batch, or the intended time in an open loop.
    var since: UInt64
    var isWrite: Bool
}

/// One connection's descriptor and fixed buffers; a plain value in the generator's table.
///
/// The generator allocates it before the clock starts and calls `free` once.
///
/// Safety: the three blocks have the lengths that stand beside them, and the generator frees them once, after the last
/// use.
@safe
struct Connection {
    let descriptor: Int32
    let input: UnsafeMutablePointer<UInt8>
    let inputCapacity: Int
    var inputCount = 0

    let output: UnsafeMutablePointer<UInt8>
    var outputCount = 0
    var outputSent = 0
    var waitsForRoom = false

    /// A ring: replies come in the order of the requests.
    let pending: UnsafeMutablePointer<PendingRequest>
    let depth: Int
    var pendingHead = 0
    var pendingCount = 0

    init(descriptor: Int32, depth: Int, requestSize: Int, replySize: Int) {
        self.descriptor = descriptor
        self.depth = depth
        // One whole reply must fit, an error's text too; a whole batch should, up to a megabyte.
        inputCapacity = max(replySize + 16_384, min(depth * replySize, 1 << 20))
        unsafe input = .allocate(capacity: inputCapacity)
        unsafe input.initialize(repeating: 0, count: inputCapacity)
        unsafe output = .allocate(capacity: depth * requestSize)
        unsafe output.initialize(repeating: 0, count: depth * requestSize)
        unsafe pending = .allocate(capacity: depth)
        unsafe pending.initialize(repeating: PendingRequest(since: 0, isWrite: false), count: depth)
    }

    func free() {
        unsafe input.deallocate()
        unsafe output.deallocate()
        unsafe pending.deallocate()
    }

    /// Fills the output with as many copies of a template as fit in a batch: later only digits are patched.
    mutating func prerender(_ template: RequestTemplate) {
        for index in 0..<depth {
            unsafe memcpy(output + index * template.bytes.count, template.bytes, template.bytes.count)
        }
    }

    @inline(__always)
    mutating func push(since: UInt64, isWrite: Bool) {
        var slot = pendingHead &+ pendingCount
        if slot >= depth { slot &-= depth }
        unsafe pending[slot] = PendingRequest(since: since, isWrite: isWrite)
        pendingCount &+= 1
    }

    @inline(__always)
    mutating func pop() {
        pendingHead &+= 1
        if pendingHead == depth { pendingHead = 0 }
        pendingCount &-= 1
    }

    /// Room for another request: the batch is not full and no bytes wait for the socket.
    @inline(__always)
    var isOpen: Bool { pendingCount < depth && outputCount == 0 }

    /// Keeps the bytes from `consumed` on, the beginning of a reply, for the next read.
    @inline(__always)
    mutating func keep(from consumed: Int) {
        inputCount &-= consumed
        if inputCount > 0 && consumed > 0 { unsafe memmove(input, input + consumed, inputCount) }
    }
}
