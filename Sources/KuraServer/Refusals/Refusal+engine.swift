import KuraBytes
import KuraProtocol
import KuraStorage
import SQLite

/// An error that a request is refused with. Each store's stands in the words of the wire beside the store's handlers.
protocol RefusalCause: Error {
    func refusal(of call: Call) -> Refusal
}

extension Refusal {
    init(_ cause: some RefusalCause, call: Call) { self = cause.refusal(of: call) }
}

extension EngineError: RefusalCause {
    func refusal(of call: Call) -> Refusal {
        switch self {
        case .conflict(let currentRev):
            call.shows(currentRev)
            return .error(RPCError(.conflict, currentRev: currentRev))
        case .valueTooLarge(let limit):
            return .error(RPCError(.valueTooLarge, parameter: call.reader.valueName, limit: limit))
        case .quotaExceeded(let limit): return .error(RPCError(.quotaExceeded, limit: limit))
        case .accountFull(let limit, let measure):
            return .error(.quotaExceeded(limit: limit, of: measure))
        case .noSpace: return .error(RPCError(.noSpace))
        case .tooLargeForRoom(let items?):
            return .error(
                RPCError(
                    .noSpace, hint: "one transaction may remove `limit` items for now: fewer at once", limit: items))
        case .tooLargeForRoom(nil):
            return .error(RPCError(.noSpace, hint: "the transaction is larger than the room: less at once may do"))
        case .cold: return .waits(.page)
        case .busy: return .waits(.room)
        case .duplicate(let index):
            return .error(RPCError(.invalidParams, hint: "the same item comes twice", index: index))
        case .overloaded: return .error(RPCError(.overloaded, hint: "this part of the log cannot be read yet"))
        case .unreadable: return .error(RPCError(unreadable: self))
        case .cancelled: return .error(RPCError(.shuttingDown))
        case .interrupted: return .error(RPCError(.cancelled))
        }
    }
}

extension RPCError {
    /// The tables could not be read.
    init(unreadable error: EngineError) {
        switch error.unreadable {
        case .want:
            self.init(.overloaded, hint: "the tables cannot be read now: too many files are open, or memory is short")
        case .damage:
            self.init(
                .integrity,
                hint:
                    "the tables are damaged where this lies, and the rest is served; 'kura doctor' names the command that brings it back, such as kura restore --at newest --log"
            )
        case .other, nil: self.init(.internalError, hint: "the tables could not be read")
        }
    }
}

extension Call {
    /// Names a parameter, and a place in it as a JSON pointer, when the method has a parameter of this name.
    func name(_ error: inout RPCError, _ parameter: StaticString, at pointer: String) {
        guard let position = reader.position(of: parameter) else { return }
        // Safety: the table's names are there for good.
        unsafe error.parameter = reader.name(position)
        errorTexts.point(&error, at: pointer)
    }

    /// Runs what touches a store and translates its errors.
    func run<R, Cause: RefusalCause>(_ body: () throws(Cause) -> R) throws(Refusal) -> R {
        do throws(Cause) { return try body() } catch { throw error.refusal(of: self) }
    }
}
