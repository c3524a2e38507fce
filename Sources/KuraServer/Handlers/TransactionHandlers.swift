import KuraBytes
import KuraProtocol
import KuraStorage

/// Answers `transaction.apply`.
extension TransactionHandlers {
    static func apply(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        guard let connection = call.connection else { return }
        out.openObject()
        out.openList(.results)
        let transaction = storage.beginTransaction(by: call.author(storage))
        var walk = JSONWalk(call[TransactionApply.operations], storage: call.memory.walk)
        var index = 0
        while let operation = walk.nextElement() {
            out.beginElement()
            do throws(Refusal) {
                guard index < WireLimits.transactionItems else { throw tooMany(call) }
                try perform(operation, call, connection, &out, storage)
            } catch {
                abandon(transaction, call, storage)
                if error.isCold { alsoLook(for: call, after: index, storage) }
                throw error.at(operation: index)
            }
            index += 1
        }
        let rev = storage.end(transaction)
        out.closeList()
        out.append(.rev, rev ?? storage.rev)
        if call.shows(transaction: rev, storage) { out.append(.durable, false) }
        out.closeObject()
    }

    /// The transaction has met something cold and is begun again: what its later operations on documents will look for is read in along
    /// with that.
    private static func alsoLook(for call: Call, after done: Int, _ storage: isolated Storage) {
        let inner = call.operation
        let reader = inner.reader
        var upcoming: [[UInt8]: DocumentsStore.Upcoming] = [:]
        var walk = JSONWalk(call[TransactionApply.operations], storage: call.memory.walk)
        var index = 0
        while let operation = walk.nextElement(), index < WireLimits.transactionItems {
            index += 1
            // What is wrong with one is told when its turn comes.
            guard index > done + 1, (try? reader.readOperation(operation)) != nil,
                reader.table.methods[reader.methodIndex].store == .documents
            else { continue }
            DocumentsHandlers.note(inner, in: &upcoming[Array(inner[InDocuments.collection]), default: .init()])
        }
        reader.wipe()
        storage.documents.alsoLook(for: upcoming)
    }

    private static func tooMany(_ call: Call) -> Refusal {
        .error(
            RPCError(
                .invalidParams, hint: "too many operations", parameter: call.name(TransactionApply.operations),
                limit: WireLimits.transactionItems))
    }

    static func abandon(_ transaction: Storage.Transaction, _ call: Call, _ storage: isolated Storage) {
        storage.abandon(transaction)
        call.forgetsShown(above: storage.rev)
    }

    /// Carries out one operation, and appends what it answers.
    static func perform(
        _ operation: Bytes, _ call: Call, _ connection: Connection, _ out: inout ByteBuffer, _ storage: isolated Storage
    ) throws(Refusal) {
        let inner = call.operation
        do throws(RPCError) { try inner.reader.readOperation(operation) } catch {
            inner.reader.wipe()
            throw .error(error)
        }
        if inner.reader.isAboutSecrets { call.keyed.meetsSecrets() }
        inner.begin(connection, isAhead: call.attempt.isAhead, replyAt: call.attempt.replyStart)
        defer {
            if inner.memory.holdsSecrets {
                call.memory.meetsSecrets()
                inner.wipeSecrets()
            }
        }
        do throws(Refusal) { try inner.perform(&out, storage) } catch {
            call.shows(inner)
            throw error
        }
        call.shows(inner)
        call.attempt.performed(inner.attempt)
    }
}
