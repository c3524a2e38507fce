import KuraBytes
import KuraProtocol
import KuraStorage

/// Pieces of results that several rooms share.
extension Call {
    /// `{"rev":N` — the caller closes the object.
    func append(rev: UInt64, to out: inout ByteBuffer) {
        out.openObject()
        out.append(.rev, rev)
        shows(rev)
    }

    /// The result of a deletion. That nothing was there is shown as well, so its revision counts even when it is not told.
    func append(deletion result: WriteResult, to out: inout ByteBuffer, _ storage: isolated Storage) {
        out.openObject()
        out.append(.rev, result.changed > 0 ? result.rev : 0)
        out.append(.deleted, result.changed > 0)
        out.append(effectsOf: result)
        append(durabilityOf: result, to: &out, storage)
        out.closeObject()
    }

    func appendCount(_ count: Int, to out: inout ByteBuffer, _ storage: isolated Storage) {
        out.openObject()
        out.append(.count, count)
        out.append(.rev, storage.rev)
        out.closeObject()
        shows(storage.rev)
    }

    func append(
        scopes: [ScopeSummary], of store: Method.Store, named name: TextMember, to out: inout ByteBuffer,
        _ storage: isolated Storage
    ) {
        out.openObject()
        out.openList(.scopes)
        for scope in scopes where shows(.list, store, scope: scope.name) {
            out.openObject()
            out.append(name, scope.name)
            out.append(.count, scope.count)
            out.append(.bytes, scope.bytes)
            if scope.attachmentBytes > 0 { out.append(.attachmentBytes, scope.attachmentBytes) }
            out.append(.rev, scope.rev)
            out.closeObject()
        }
        out.closeList()
        out.append(.rev, storage.rev)
        out.closeObject()
        shows(storage.rev)
    }

    /// How many elements a list parameter has.
    func elements(of parameter: JSONParameter) -> Int {
        var walk = JSONWalk(self[parameter], storage: memory.walk)
        var count = 0
        while walk.nextElement() != nil { count += 1 }
        return count
    }

    /// Calls `body` for each name in a list parameter, but for the first `done`.
    /// - Throws: `invalidParams` naming the element that is no name, or the list when it is too long.
    func forEachName(
        of parameter: JSONParameter, limit: Int, after done: Int = 0, _ body: (Bytes) throws(Refusal) -> Void
    ) throws(Refusal) {
        var walk = JSONWalk(self[parameter], storage: memory.walk)
        var index = 0
        while let element = walk.nextElement() {
            if index < done {
                index += 1
                continue
            }
            guard index < limit else {
                throw .error(
                    RPCError(.invalidParams, hint: "too many items", parameter: name(parameter), limit: limit))
            }
            guard let name = JSONWalk.string(element, storage: memory.innerWalk),
                JSONWalk.isName(name, limit: WireLimits.keyBytes)
            else {
                let error = RPCError(
                    .invalidParams, hint: "items are strings of 1 to 512 bytes without control characters")
                throw .error(self.error(error, in: parameter, index))
            }
            try body(name)
            index += 1
        }
    }
}

extension Call {
    /// Names the element of a list parameter that is at fault, and within it the member, and the place of both in the parameter as a
    /// JSON pointer.
    func error(_ error: RPCError, in parameter: some Parameter, _ index: Int, member: [UInt8]? = nil) -> RPCError {
        var error = error
        // Safety: the table's names are there for good.
        unsafe error.parameter = name(parameter)
        error.index = index
        errorTexts.point(&error, at: index, member: member)
        return error
    }
}

extension Refusal {
    /// Names the element of a list that is at fault.
    func at(index: Int) -> Refusal {
        switch self {
        case .error(let error): .error(error.at(index: index))
        case .waits, .transfer: self
        }
    }

    /// Names the operation of a transaction that is at fault.
    func at(operation: Int) -> Refusal {
        guard case .error(var error) = self else { return self }
        error.operation = operation
        return .error(error)
    }
}
