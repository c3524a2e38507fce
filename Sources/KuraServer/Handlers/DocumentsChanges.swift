import JSONSchema
import KuraBytes
import KuraJSON
import KuraProtocol
import KuraStorage

/// Answers what changes documents that are there: patches, sums, what is brought back.
extension DocumentsHandlers {
    static func patch(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        guard call.has(DocumentsPatch.mergePatch) != call.has(DocumentsPatch.jsonPatch) else {
            throw .error(
                RPCError(
                    .invalidParams, hint: "give one of mergePatch and jsonPatch",
                    parameter: call.name(DocumentsPatch.mergePatch)))
        }
        let isMerge = call.has(DocumentsPatch.mergePatch)
        let patch = StoredValue(call[isMerge ? DocumentsPatch.mergePatch : DocumentsPatch.jsonPatch])
        guard !isMerge || patch.kind == .object || call[DocumentsPatch.replace] else {
            throw .error(
                RPCError(
                    .invalidParams,
                    hint:
                        "an object; a list of operations is a jsonPatch, and documents.put replaces the whole document (or replace: true)",
                    parameter: call.name(DocumentsPatch.mergePatch)))
        }
        let (result, warning) = try change(call, ifRev: call.condition(DocumentsPatch.ifRev), storage) {
            (document, output) throws(Refusal) in
            do throws(PatchFault) {
                try call.edits.apply(patch, isMerge: isMerge, to: document, into: &output)
            } catch {
                throw .error(
                    isMerge
                        ? call.error(error, parameter: DocumentsPatch.mergePatch)
                        : call.error(error, parameter: DocumentsPatch.jsonPatch))
            }
        }
        out.openObject()
        out.append(.rev, result.rev)
        out.append(.changed, result.changed > 0)
        call.append(warning: warning, to: &out)
        call.append(durabilityOf: result, to: &out, storage)
        out.closeObject()
    }

    static func increment(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        let step = call.has(DocumentsIncrement.by) ? StoredValue(call[DocumentsIncrement.by]) : StoredValue(Bytes("1"))
        guard step.kind == .number else {
            throw .error(RPCError(.invalidParams, hint: "a number", parameter: call.name(DocumentsIncrement.by)))
        }
        let path: FieldPath
        do throws(FieldPathError) { path = try FieldPath(call[DocumentsIncrement.path]) } catch {
            var refusal = RPCError(.invalidParams, parameter: call.name(DocumentsIncrement.path))
            call.errorTexts.explain(&refusal, error.message)
            throw .error(refusal)
        }
        var sum = Bytes()
        let (result, warning) = try change(call, ifRev: nil, storage) { (document, output) throws(Refusal) in
            do throws(PatchFault) {
                sum = try call.edits.add(step.text, at: path, in: document, into: &output)
            } catch { throw .error(call.error(ofIncrement: error)) }
        }
        out.openObject()
        out.append(content: sum, rev: result.rev)
        call.append(warning: warning, to: &out)
        call.append(durabilityOf: result, to: &out, storage)
        out.closeObject()
    }

    static func restore(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        let rules = CollectionRules.of(call[DocumentsRestore.collection], storage)
        var refusal: Refusal?
        var warning: Violation?
        let result: WriteResult
        do throws(DocumentsError) {
            result = try storage.documents.restore(
                call[DocumentsRestore.collection], call[DocumentsRestore.id], by: call.author(storage)
            ) {
                (value) throws(DocumentsError) in
                do throws(Refusal) { warning = try call.check(rules, value) } catch {
                    refusal = error
                    throw .engine(.busy)
                }
            }
        } catch { throw refusal ?? Refusal(error, call: call) }
        out.openObject()
        out.append(.rev, result.rev)
        out.append(.restored, result.changed > 0)
        call.append(warning: warning, to: &out)
        call.append(durabilityOf: result, to: &out, storage)
        out.closeObject()
    }

    /// Changes the document that the first two parameters name. What comes of it is held against the collection's schema, unless it is
    /// what was there.
    private static func change(
        _ call: Call, ifRev: Precondition, _ storage: isolated Storage,
        _ body: (StoredValue, inout ByteBuffer) throws(Refusal) -> Void
    ) throws(Refusal) -> (WriteResult, Violation?) {
        let rules = CollectionRules.of(call[InDocuments.collection], storage)
        var refusal: Refusal?
        var warning: Violation?
        do throws(DocumentsError) {
            let result = try storage.documents.change(
                call[InDocuments.collection], call[InDocuments.id], ifRev: ifRev, by: call.author(storage)
            ) {
                (value, output) throws(DocumentsError) in
                do throws(Refusal) {
                    try body(StoredValue(value), &output)
                    if !output.bytes.equals(value) { warning = try call.check(rules, output.bytes) }
                } catch {
                    refusal = error
                    throw .engine(.busy)
                }
            }
            return (result, warning)
        } catch { throw refusal ?? Refusal(error, call: call) }
    }
}

extension Call {
    /// A patch's fault in the words of the wire.
    fileprivate func error(_ fault: PatchFault, parameter: some Parameter) -> RPCError {
        var error: RPCError
        switch fault.reason {
        case .tooLarge:
            error = RPCError(.valueTooLarge, parameter: name(parameter), limit: DocumentsStore.valueLimit)
        case .tooManyOperations:
            error = RPCError(
                .invalidParams, hint: fault.message, parameter: name(parameter),
                limit: reader.listLimit(parameter.position))
        case _ where fault.isMalformed:
            error = RPCError(.invalidParams, hint: fault.message, parameter: name(parameter))
        default:
            error = RPCError(.patchFailed)
            error.reason = fault.message
        }
        error.index = fault.operation
        if let pointer = fault.place ?? fault.pointer { errorTexts.point(&error, at: pointer) }
        return error
    }

    fileprivate func error(ofIncrement fault: PatchFault) -> RPCError {
        var error: RPCError
        switch fault.reason {
        case .tooLarge:
            error = RPCError(
                .valueTooLarge, parameter: name(DocumentsIncrement.path), limit: DocumentsStore.valueLimit)
        case .outOfRange: error = RPCError(.outOfRange)
        default:
            error = RPCError(.typeMismatch)
            error.reason = fault.message
        }
        if let pointer = fault.pointer { errorTexts.point(&error, at: pointer) }
        return error
    }
}
