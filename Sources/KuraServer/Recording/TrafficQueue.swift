import KuraBytes
import KuraSocket
import KuraStorage
import SQLite

/// Where the loop and a recording's thread meet: copies of what came and what left, in their order, until the thread has taken them.
///
/// The loop never waits here. What there is no room for is counted, and the thread is told where it would have stood.
///
/// Safety: `taken` and its descriptors are the thread's alone, which swaps them for what waits under the lock.
final class TrafficQueue: @unchecked Sendable {
    enum Kind: UInt8 {
        /// The connection's first; the bytes are its role.
        case opened
        /// A whole line.
        case request
        /// One or several whole lines, each with its end.
        case replies
        /// A descriptor came with what comes next; the bytes are none.
        case descriptor
        case closed
    }

    struct Entry {
        let kind: Kind
        /// Counts connections, from 1 on.
        let connection: UInt32
        /// Nanoseconds since the recording's beginning.
        let at: UInt64
    }

    /// What the thread has not taken.
    private final class Waiting {
        var limit = 0
        var bytes = ByteBuffer()
        var descriptors: [PassedDescriptor] = []
        var dropped: UInt64 = 0
    }

    private let waiting = Guarded(Waiting())
    private let ready = Semaphore()
    private var taken = ByteBuffer()
    private var takenDescriptors: [PassedDescriptor] = []

    private static let headBytes = 17
    /// Descriptors that are held at once: each is the daemon's as well.
    private static let descriptorLimit = 16

    /// Memory that is kept for the next lines.
    private static let ordinaryBytes = 256 << 10

    /// - Parameter limit: bytes that wait at most.
    init(limit: Int = 0) {
        waiting.withLock { waiting in
            waiting.limit = limit
            waiting.bytes.wipes = true
        }
        taken.wipes = true
    }

    // MARK: For the loop

    /// From now on so many bytes wait at most.
    func bound(_ limit: Int) { waiting.withLock { $0.limit = limit } }

    /// Takes a copy. `lines`: how many requests or replies it is, for the count of what is dropped.
    /// - Returns: false when there is no room for it.
    @discardableResult
    func append(_ entry: Entry, _ bytes: Bytes = Bytes(), lines: Int = 0, _ descriptor: PassedDescriptor? = nil) -> Bool
    {
        waiting.withLock { waiting in
            let count = waiting.bytes.count
            let hasRoom = count + bytes.count + Self.headBytes <= waiting.limit
            guard hasRoom, descriptor == nil || waiting.descriptors.count < Self.descriptorLimit else {
                waiting.dropped += UInt64(lines)
                return false
            }
            if count == 0 { ready.signal() }
            waiting.bytes.append(entry.kind.rawValue)
            waiting.bytes.append(littleEndian: entry.connection)
            waiting.bytes.append(littleEndian: entry.at)
            waiting.bytes.append(littleEndian: UInt32(bytes.count))
            waiting.bytes.append(bytes)
            if let descriptor { waiting.descriptors.append(descriptor) }
            return true
        }
    }

    // MARK: For the thread

    /// Waits until something is there, until the deadline, or until somebody wakes it.
    func wait(until deadline: Deadline?) {
        if let deadline { _ = ready.wait(until: deadline) } else { ready.wait() }
    }

    func wake() { ready.signal() }

    /// Hands over what is there, in its order.
    /// - Returns: how many requests and replies would have followed and are left out.
    func take<Failure: Error>(
        _ body: (Entry, Bytes, PassedDescriptor?) throws(Failure) -> Void
    ) throws(Failure) -> UInt64 {
        let dropped = waiting.withLock { waiting in
            swap(&waiting.bytes, &taken)
            swap(&waiting.descriptors, &takenDescriptors)
            defer { waiting.dropped = 0 }
            return waiting.dropped
        }
        defer {
            takenDescriptors.removeAll(keepingCapacity: true)
            // What a burst has needed is not kept for the lines behind it.
            if taken.capacity > Self.ordinaryBytes { taken.releaseMemory() } else { taken.removeAll() }
        }
        let bytes = taken.bytes
        var position = 0
        var descriptors = takenDescriptors.makeIterator()
        while position < bytes.count {
            let kind = Kind(rawValue: bytes[position])!
            let entry = Entry(
                kind: kind,
                connection: UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: position + 1, as: UInt32.self)),
                at: UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: position + 5, as: UInt64.self)))
            let count = Int(
                UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: position + 13, as: UInt32.self)))
            let start = position + Self.headBytes
            try body(entry, bytes.extracting(start..<start + count), kind == .descriptor ? descriptors.next() : nil)
            position = start + count
        }
        return dropped
    }

    /// Bytes of memory that it takes.
    var footprint: Int { waiting.withLock { $0.bytes.capacity } + taken.capacity }
}
