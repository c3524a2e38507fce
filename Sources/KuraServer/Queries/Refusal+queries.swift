import KuraProtocol
import KuraStorage

extension QueryError: RefusalCause {
    func refusal(of call: Call) -> Refusal {
        switch self {
        case .engine(let error): return error.refusal(of: call)
        case .timeout(let milliseconds): return .error(RPCError(.timeout, limit: milliseconds))
        case .patternTooComplex(let place):
            var error = RPCError(
                .invalidParams, hint: "holding a text against a $regex of the selector would take too long")
            call.name(&error, "where", at: place)
            return .error(error)
        case .indexGone:
            return .error(
                RPCError(.invalidParams, hint: "the index that the cursor stands in is gone: begin at the first page"))
        case .compacted(let oldestRev): return ChangesError.compacted(oldestRev: oldestRev).refusal(of: call)
        case .searchNotDeclared: return .error(call.searchFault(.indexNeeded, "the collection has no searchFields"))
        case .searchBuilding(let done, let total):
            return .error(call.searchFault(.indexBuilding, "the search index has \(done) of \(total) documents"))
        case .indexNeeded(let limit, _): return .error(RPCError(.indexNeeded, limit: limit))
        case .tooManyGroups(let limit):
            return .error(
                RPCError(
                    .replyTooLarge, hint: "too many groups, or too much in them: group by less, or narrow them down",
                    limit: limit))
        case .liveQueryTooLarge(let limit, let isBytes): return .error(.liveQueryTooLarge(limit, isBytes: isBytes))
        case .unresponsive:
            return .error(RPCError(.transferFailed, hint: "the file behind the descriptor does not answer"))
        case .hanging:
            return .error(
                RPCError(
                    .overloaded, hint: "files that this user has passed do not answer: no other is read until they do",
                    limit: Storage.hangingReads))
        }
    }
}
