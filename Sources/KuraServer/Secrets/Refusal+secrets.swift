import KuraProtocol
import KuraStorage

extension SecretsError: RefusalCause {
    func refusal(of call: Call) -> Refusal {
        switch self {
        case .engine(let error): return error.refusal(of: call)
        case .absent(let shownRev):
            call.shows(shownRev)
            return .error(RPCError(.notFound))
        case .sealed: return .error(RPCError(.sealed))
        case .preparing: return .waits(.turn)
        case .integrity:
            return .error(
                RPCError(
                    .integrity,
                    hint:
                        "secrets have been altered, removed or set back: 'kura secrets verify' tells which, 'kura secrets repair' goes on with what is whole"
                ))
        case .otherHostKey:
            return .error(
                RPCError(
                    .integrity,
                    hint:
                        "it is deviceOnly, and keys/host.key is not the one that it is sealed with: put the old one back and start kurad again. Nothing is damaged, and 'kura secrets repair' leaves it"
                ))
        case .noSuchVersion(let shownRev):
            call.shows(shownRev)
            return .error(RPCError(.notFound, hint: "there is no such version, or its value is gone"))
        case .unusableKey: return .error(RPCError(.invalidParams, hint: "nothing can be sealed to this public key"))
        case .wrongKind:
            return .error(
                RPCError(.typeMismatch, hint: "the secret is no key for this: see kind and algorithm in secrets.list"))
        case .forged: return .error(RPCError(.forged))
        case .unusableToken(let why):
            var error = RPCError(.tokenUnusable)
            error.reason = why.word
            return .error(error)
        }
    }
}
