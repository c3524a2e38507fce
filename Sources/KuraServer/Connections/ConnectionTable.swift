import KuraBytes

/// The open connections by token. A token is a slot's number and how often the slot has been used, so that an event
/// that comes late never finds another connection than its own.
struct ConnectionTable {
    private struct Slot {
        var connection: Connection?
        var generation: UInt32 = 1
    }
    private var slots: ContiguousArray<Slot> = []
    private var free: ContiguousArray<UInt32> = []
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }

    /// All of them, in no particular order.
    var all: ContiguousArray<Connection> { ContiguousArray(slots.compactMap(\.connection)) }

    subscript(token: UInt64) -> Connection? {
        let slot = Int(truncatingIfNeeded: token & 0xFFFF_FFFF)
        guard slot < slots.count, slots[slot].generation == UInt32(truncatingIfNeeded: token >> 32) else { return nil }
        return slots[slot].connection
    }

    /// Keeps the connection that `make` returns for its token.
    mutating func insert(_ make: (UInt64) -> Connection) -> Connection {
        let slot = free.popLast() ?? UInt32(slots.count)
        if slot == slots.count { slots.append(Slot()) }
        let connection = make(UInt64(slots[Int(slot)].generation) << 32 | UInt64(slot))
        slots[Int(slot)].connection = connection
        count += 1
        return connection
    }

    mutating func remove(_ token: UInt64) {
        guard self[token] != nil else { return }
        let slot = Int(truncatingIfNeeded: token & 0xFFFF_FFFF)
        slots[slot].connection = nil
        slots[slot].generation &+= 1
        // Generation 0 is for tokens that are not connections.
        if slots[slot].generation == 0 { slots[slot].generation = 1 }
        free.append(UInt32(slot))
        count -= 1
    }

    mutating func removeAll() {
        for slot in slots { if let connection = slot.connection { remove(connection.token) } }
    }
}
