import KuraProtocol
import KuraStorage

extension ChangesError: RefusalCause {
    func refusal(of call: Call) -> Refusal {
        switch self {
        case .compacted(let oldestRev):
            var error = RPCError(.compacted)
            error.oldestRev = oldestRev
            return .error(error)
        case .cold: return .waits(.page)
        case .overloaded: return .error(RPCError(.overloaded, hint: "this part of the log cannot be read yet"))
        case .damagedLog:
            return .error(
                RPCError(
                    .integrity,
                    hint:
                        "a part of the log is damaged, and the rest is served: 'kura doctor' names the command that helps"
                ))
        }
    }
}
