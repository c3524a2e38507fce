import KuraBytes
import KuraProtocol
import KuraStorage

/// Why a handler gave no result.
enum Refusal: Error {
    /// The reply is this error.
    case error(RPCError)
    /// Not yet. What the reply has so far stays, when it is being gathered and waits for no thread.
    case waits(Need)
    /// Not here: a thread does it, and the reply comes when it has.
    case transfer(any TransferWork)
}

/// What a request needs in order to go on.
enum Need {
    /// Nothing but another turn.
    case turn
    /// The end of the turn: what it does is not taken back, and what came before it may be.
    case commit
    /// Its place in the order of the requests.
    case order
    /// Room for changes.
    case room
    /// A moment in which its client may write again.
    case slot
    /// That moment, in nanoseconds on the monotonic clock.
    case moment(UInt64)
    /// What it has looked for and is being read in.
    case page
    /// The query with this ticket.
    case answer(UInt64)
    /// That can be told who refers to documents by a reference of this collection.
    case reference([UInt8], index: [UInt8])
    /// The end of the transfer with this ticket.
    case transfer(UInt64)
}

/// Answers one method: appends the result's JSON to the output, or throws and has changed nothing.
typealias Handler = @Sendable (Call, inout ByteBuffer, isolated Storage) throws(Refusal) -> Void

extension Refusal {
    /// What has been gathered of the reply stays.
    var keepsGathered: Bool {
        switch self {
        case .waits(.turn), .waits(.commit), .waits(.room), .waits(.page): true
        case .error, .waits, .transfer: false
        }
    }

    /// It has met what is not in memory, and is being read in.
    var isCold: Bool { if case .waits(.page) = self { true } else { false } }
}
