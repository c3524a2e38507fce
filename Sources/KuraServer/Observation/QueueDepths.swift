import KuraBytes

/// How many connections wait for what, and what else is under way: a moment's numbers.
struct QueueDepths {
    /// Their replies wait for the sync.
    var sync = 0
    /// Their next request waits until changes have been folded, for a page, for a query or another thread.
    var room = 0
    var page = 0
    var query = 0
    /// They had more requests than one turn answers.
    var more = 0
    /// They have been put off, so that others get their turn.
    var deferred = 0
    /// They are not read from for want of memory, or read nothing themselves.
    var starved = 0
    var stalled = 0
    /// Long requests that a thread of their own does.
    var transfers = 0

    /// The member `queues`.
    func append(to out: inout ByteBuffer) {
        out.openObject(.queues)
        out.append(.sync, sync)
        out.append(.room, room)
        out.append(.page, page)
        out.append(.query, query)
        out.append(.more, more)
        out.append(.deferred, deferred)
        out.append(.starved, starved)
        out.append(.stalled, stalled)
        out.append(.transfers, transfers)
        out.closeObject()
    }
}

extension Server {
    var queueDepths: QueueDepths {
        QueueDepths(
            sync: syncs.count, room: waits.count { $0 == .room },
            page: waits.count { if case .page = $0 { true } else { false } },
            query: waits.count { if case .answer = $0 { true } else { false } }, more: turn.next.count,
            deferred: crowd.slices.deferred.count, starved: crowd.memory.starved.count,
            stalled: crowd.stalls.connections.count, transfers: transfers.count)
    }
}
