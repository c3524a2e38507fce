import KuraBytes
import KuraProtocol
import KuraSocket
import KuraStorage

/// Answers `documents.attach`, `attachment` and `detach`. Contents are copied and opened on threads: the request waits, and is begun
/// again when its content is in its place.
extension DocumentsHandlers {
    static func attach(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        let copy = try call.content(AttachmentCopy.self) { () throws(Refusal) in
            let source = try source(call)
            // What would be refused afterwards is not copied.
            let found = try call.run { () throws(EngineError) in
                try storage.documents.get(call[DocumentsAttach.collection], call[DocumentsAttach.id])
            }
            guard let document = found.item else {
                throw Refusal(DocumentsError.absent(shownRev: found.shownRev), call: call)
            }
            if let ifRev = call.condition(DocumentsAttach.ifRev), ifRev != document.rev {
                throw Refusal(EngineError.conflict(currentRev: document.rev), call: call)
            }
            guard !storage.refusesChanges else { throw Refusal(EngineError.noSpace, call: call) }
            return storage.takeIn(source, for: call.uid)
        }
        guard let digest = copy.digest, let pin = copy.pin else { throw refusal(of: copy, call) }
        let attachment = Attachment(
            name: Array(call[DocumentsAttach.name]), contentType: Array(call[DocumentsAttach.contentType]),
            bytes: copy.bytes, digest: digest)
        let result = try call.run { () throws(DocumentsError) in
            try storage.documents.attach(
                call[DocumentsAttach.collection], call[DocumentsAttach.id], attachment,
                ifRev: call.condition(DocumentsAttach.ifRev), by: call.author(storage))
        }
        if result.changed > 0 { storage.hold(pin, untilFolded: result.rev) }
        call.append(rev: result.rev, to: &out)
        out.append(.bytes, copy.bytes)
        out.append(.digest, digest.text)
        out.closeObject()
    }

    /// Where the request's content comes from. Its descriptor is taken, whatever else is wrong: the next request's is another one.
    private static func source(_ call: Call) throws(Refusal) -> AttachmentCopy.Source {
        let taken = call[DocumentsAttach.fd] ? call.connection?.descriptors.take() : nil
        guard call[DocumentsAttach.fd] != call.has(DocumentsAttach.data) else {
            throw .error(
                RPCError(
                    .invalidParams, hint: "give one of fd: true and data", parameter: call.name(DocumentsAttach.fd)))
        }
        guard call[DocumentsAttach.fd] else { return .text(Array(call[DocumentsAttach.data])) }
        let descriptor = try call.passed(taken ?? .missing, fd: 4)
        return .descriptor(descriptor.number, owner: descriptor)
    }

    private static func refusal(of copy: AttachmentCopy, _ call: Call) -> Refusal {
        switch copy.fault {
        case .noFile: .error(RPCError(.transferFailed, hint: "the descriptor is of no regular file"))
        case .changed: .error(RPCError(.transferFailed, hint: "the file changed its size while it was read"))
        case .unreadable: .error(RPCError(.transferFailed, hint: "the descriptor could not be read"))
        case .tooLarge:
            .error(
                RPCError(
                    .valueTooLarge, parameter: call.reader.name(call[DocumentsAttach.fd] ? 4 : 5),
                    limit: Attachment.byteLimit))
        case .badBase64:
            .error(RPCError(.invalidParams, hint: "base64 with padding", parameter: call.name(DocumentsAttach.data)))
        case .noSpace: Refusal(EngineError.noSpace, call: call)
        case .want: .error(unavailable)
        case .damaged:
            .error(
                RPCError(
                    .integrity,
                    hint: "where the content belongs is not what was there: 'kura doctor' says what to do"))
        case .ending: .error(call.stopped)
        default: .error(RPCError(.internalError, hint: "the content could not be written"))
        }
    }

    /// Nothing was found out about a content.
    private static var unavailable: RPCError {
        RPCError(.overloaded, hint: "too many files are open, or memory is short")
    }

    static func detach(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        let result = try call.run { () throws(DocumentsError) in
            try storage.documents.detach(
                call[DocumentsDetach.collection], call[DocumentsDetach.id], call[DocumentsDetach.name],
                ifRev: call.condition(DocumentsDetach.ifRev), by: call.author(storage))
        }
        call.append(rev: result.rev, to: &out)
        out.append(.detached, result.changed > 0)
        out.closeObject()
    }

    static func attachment(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        let isInline = !call[DocumentsAttachment.as].equals("fd")
        let found = try call.run { () throws(EngineError) in
            try storage.documents.attachment(
                call[DocumentsAttachment.collection], call[DocumentsAttachment.id], call[DocumentsAttachment.name]
            )
        }
        guard let attachment = found.attachment else {
            throw Refusal(DocumentsError.absent(shownRev: found.shownRev), call: call)
        }
        guard !isInline || attachment.bytes <= WireLimits.inlineAttachmentBytes else {
            throw .error(
                RPCError(
                    .valueTooLarge, hint: "ask for it as fd", parameter: call.name(DocumentsAttachment.as),
                    limit: WireLimits.inlineAttachmentBytes))
        }
        let content = try call.content(AttachmentRead.self) { () throws(Refusal) in
            storage.open(attachment, isInline: isInline, for: call.uid)
        }
        // It was replaced meanwhile: what has been opened would be answered under the new one's name.
        guard content.digest == attachment.digest else {
            call.begun?.discardContent()
            throw .waits(.answer(storage.open(attachment, isInline: isInline, for: call.uid)))
        }
        guard !content.isUnavailable else { throw .error(unavailable) }
        guard !content.isDamaged else {
            storage.start.damage.note(content: attachment.digest)
            throw .error(
                RPCError(.integrity, hint: "the attachment's content is damaged or gone: 'kura doctor' says what to do")
            )
        }
        call.append(rev: found.shownRev, to: &out)
        out.append(.bytes, attachment.bytes)
        out.append(.digest, attachment.digest.text)
        if !attachment.contentType.isEmpty { out.append(.contentType, attachment.contentType) }
        if isInline {
            out.append(name: .data)
            out.append("\"")
            out.append(content.text)
            out.append("\"")
        } else {
            guard let descriptor = content.duplicate() else {
                throw .error(RPCError(.overloaded, hint: "too many files are open"))
            }
            call.attempt.pass(PassedDescriptor(owning: descriptor))
        }
        out.closeObject()
    }
}
