import KuraProtocol
import KuraStorage

extension SettingsError: RefusalCause {
    func refusal(of call: Call) -> Refusal {
        switch self {
        case .engine(let error): error.refusal(of: call)
        case .typeMismatch: .error(RPCError(.typeMismatch, hint: "the stored value is no integer"))
        case .outOfRange: .error(RPCError(.outOfRange))
        }
    }
}
