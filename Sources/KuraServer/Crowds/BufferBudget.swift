import KuraBytes
import KuraProtocol

/// How much memory the buffers of all connections take together, and who may take more (law 11 of the protocol).
///
/// Three zones. Up to `ordinary` everybody's buffers grow. Above it only those of small connections do, so that a few big
/// ones that hold the budget do not keep everybody else out. At `full` nobody's do: what is left up to `limit` is for the
/// replies to what has been taken in. Who may not grow is not read from until others have given something back; when nobody
/// does, `MemoryRelief` says from whom it is taken.
///
/// Decides and counts; belongs to the loop. A connection's bytes are charged when they have changed, once a turn.
final class BufferBudget {
    /// Bytes of all buffers together.
    let limit: Int
    /// Bytes above which no input grows.
    let full: Int
    /// Bytes above which only small connections' buffers grow.
    let ordinary: Int
    /// Bytes below which everybody who was not read from is read from again.
    let relaxed: Int
    /// Blocks of buffers between their uses, which count against the bound: a small part of it.
    let pool: BufferPool
    /// Bytes of a connection that counts as small.
    static let small = 64 << 10

    /// Bytes that the refusal of a request may have; a reply that is no longer is not refused.
    static let refusal = 512

    /// Why a request is refused.
    static let hint: StaticString = "the buffers of all connections together are full"

    /// Bytes that connections hold.
    private(set) var connections = 0
    /// Bytes that are held for all of them: blocks between their uses, rendered pages, transfers.
    var shared = 0 { didSet { peak = max(peak, used) } }
    private(set) var peak = 0

    /// Times that a connection was not read from for want of room.
    var pauses: UInt64 = 0
    /// Lines given up, and requests refused, with `overloaded`.
    var refused: UInt64 = 0
    /// Connections closed because they did not read what they had asked for.
    var closed: UInt64 = 0
    /// Connections refused because there were too many, or no descriptor for them.
    var turnedAway: UInt64 = 0
    /// Descriptors closed because too many waited.
    var descriptorsLost: UInt64 = 0

    /// - Parameter limit: bytes, at least 64 KiB.
    init(limit: Int) {
        self.limit = limit
        // The longest reply must fit above it, with what its buffer has too much: whether there is room for one is known
        // when it has been made.
        ordinary = limit - min(limit / 4, WireLimits.replyBytes / 4 * 5)
        full = limit - limit / 16
        relaxed = limit / 8 * 5
        let block = min(64 << 10, limit / 64)
        pool = BufferPool(limit: max(2, min(64, limit / 32 / block)), largest: block)
    }

    var used: Int { connections + shared }

    /// Only small connections may take more.
    var isTight: Bool { used >= ordinary }

    /// Nobody may take more.
    var isFull: Bool { used >= full }

    /// Whether a connection that holds `held` bytes may take `growth` more.
    func admits(_ growth: Int, holding held: Int) -> Bool {
        used + growth <= (held + growth <= Self.small ? full : ordinary)
    }

    /// A connection's bytes have changed by `difference`.
    func charge(_ difference: Int) {
        connections += difference
        if difference > 0 { peak = max(peak, used) }
    }

    /// The bound for a process that may use `memory` bytes: a quarter, at most 256 MiB; `configured` only lowers it.
    static func bound(memory: Int, configured: Int?) -> Int {
        min(memory / 4, 256 << 20, configured ?? .max)
    }
}
