import KuraProtocol
import KuraStorage

extension DocumentsError: RefusalCause {
    func refusal(of call: Call) -> Refusal {
        switch self {
        case .engine(let error): return error.refusal(of: call)
        case .query(let error): return error.refusal(of: call)
        case .absent(let shownRev):
            call.shows(shownRev)
            return .error(RPCError(.notFound))
        case .uniqueViolation(let violation): return .error(call.fault(violation))
        case .referenced(let document): return .error(call.fault(document))
        case .unfit(let document): return .error(call.fault(document))
        case .tooManyDocuments(let limit):
            return .error(
                RPCError(
                    .tooManyDocuments, hint: "so many would be deleted or changed along with it, by references",
                    limit: limit))
        case .referencesBuilding(let collection, let index): return .waits(.reference(collection, index: index))
        case .attachmentsFull(let limit, let measure):
            let hint: StaticString =
                measure == .bytes
                ? "a document's attachments have at most `limit` bytes" : "a document has at most `limit` attachments"
            return .error(RPCError(.quotaExceeded, hint: hint, limit: limit))
        case .migrating:
            return .error(RPCError(.overloaded, hint: "the document is being migrated: send it again a moment later"))
        }
    }
}
