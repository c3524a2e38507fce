import KuraBytes
import KuraProtocol
import KuraStorage

/// Answers `transaction.undo`: a transaction of the operations that bring back what was there.
///
/// They are the same that a client may send, so whatever holds for those holds for these: grants, schemas, locks, unique indexes, references.
extension TransactionHandlers {
    static func undo(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        let rev = try ChangesHandlers.revision(call, TransactionUndo.rev, storage)
        guard let undone = try call.run({ () throws(ChangesError) in try storage.undone(rev) }) else { throw nothing }
        try check(undone, call)
        try look(at: undone, call, storage)
        guard undone.isWanting else { return try apply(undone, call, &out, storage) }
        throw call.wait(for: try call.run { () throws(ChangesError) in try storage.read(undone) }) {
            (call, undone: UndoneRevision, error, out, storage) throws(Refusal) in
            if let error { throw Refusal(error, call: call) }
            guard !undone.isTooLarge else { throw tooLarge }
            try look(at: undone, call, storage)
            try apply(undone, call, &out, storage)
        }
    }

    private static let nothing = Refusal.error(
        RPCError(.notFound, hint: "the log has no setting and no document that this revision changed"))

    private static let tooLarge = Refusal.error(
        RPCError(
            .tooManyDocuments, hint: "it changed more than one transaction brings back", limit: WireLimits.undoneItems))

    // MARK: What can be undone

    private static func check(_ undone: UndoneRevision, _ call: Call) throws(Refusal) {
        if let visible = call.connection?.permissions?.visible {
            for item in undone.items where !item.isVisible(to: visible) {
                throw .error(RPCError(.forbidden, hint: "it changed what you have not been granted to read"))
            }
        }
        guard !undone.isTooLarge else { throw tooLarge }
        switch undone.lasting {
        case _? where call.connection?.permissions != nil:
            // No more than it may know.
            throw undone.items.isEmpty ? nothing : notUndoable("it changed more than settings and documents")
        case .dropped:
            throw notUndoable("it dropped a collection, and what is dropped is gone: a backup may have it")
        case .sealed:
            throw notUndoable("it changed secrets, which keep their versions themselves: secrets.versions lists them")
        case .attached: throw notUndoable("it changed attachments, which have no history")
        case .configured where undone.items.isEmpty:
            throw notUndoable("it changed how a store is configured, and no setting and no document")
        case .configured, nil: break
        }
        if undone.items.isEmpty { throw nothing }
    }

    private static func notUndoable(_ hint: StaticString) -> Refusal { .error(RPCError(.notSupported, hint: hint)) }

    /// Holds each item against what there is now, and notes whose value before has to be looked for.
    private static func look(at undone: UndoneRevision, _ call: Call, _ storage: isolated Storage) throws(Refusal) {
        for (position, item) in undone.items.enumerated() {
            let now: Storage.ItemNow
            do throws(EngineError) { now = try storage.now(undone, position) } catch {
                if error == .cold { storage.documents.alsoLook(for: undone.upcoming) }
                throw Refusal(error, call: call)
            }
            switch now {
            case .asLeft(let rev, let versions, let row, let hasLastValue):
                guard undone.see(position, at: rev, versions: versions, row: row) else {
                    throw conflict(rev, item, call)
                }
                if item.effect != .created, !hasLastValue { undone.want(position) }
            case .changed(let rev): throw conflict(min(rev, storage.rev), item, call)
            case .gone where item.effect == .deleted: throw gone(item, call)
            case .gone: throw conflict(0, item, call)
            }
        }
    }

    private static func gone(_ item: UndoneRevision.Item, _ call: Call) -> Refusal {
        refusal(RPCError(.notFound, hint: "it was purged since, or dropped with its collection"), item, call)
    }

    private static func conflict(_ rev: UInt64, _ item: UndoneRevision.Item, _ call: Call) -> Refusal {
        call.shows(rev)
        return refusal(RPCError(.conflict, hint: "it was changed again since", currentRev: rev), item, call)
    }

    /// Names the item that stands in the way.
    private static func refusal(_ error: RPCError, _ item: UndoneRevision.Item, _ call: Call) -> Refusal {
        var error = error
        // Safety: the text lives until the next request.
        let told = unsafe error.explanation.map { String(decoding: $0, as: UTF8.self) }
        if let told, told.hasPrefix(item.path) { return .error(error) }
        call.errorTexts.explain(&error, told.map { "\(item.path): \($0)" } ?? item.path)
        return .error(error)
    }

    // MARK: Undoing

    private static func apply(
        _ undone: UndoneRevision, _ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage
    ) throws(Refusal) {
        guard let connection = call.connection else { return }
        let transaction = storage.beginTransaction(by: call.author(storage))
        var operation = ByteBuffer()
        var result = ByteBuffer()
        out.openObject()
        out.append(.undone, undone.items.count)
        out.openList(.items)
        // What refers to another comes before it when both go, and behind it when both come.
        for position in undone.items.indices.reversed() {
            let item = undone.items[position]
            do throws(Refusal) {
                guard undone.isOfNow(position) else { throw gone(item, call) }
                operation.removeAll()
                result.removeAll()
                let done = try append(item, undone, to: &operation, call, storage)
                try perform(operation.bytes, call, connection, &result, storage)
                guard !result.contains(.cascaded), !result.contains(.nullified) else {
                    throw refusal(RPCError(.referenced, hint: "newer documents refer to what it created"), item, call)
                }
                out.append(item, done)
            } catch {
                abandon(transaction, call, storage)
                if error.isCold { storage.documents.alsoLook(for: undone.upcoming) }
                guard case .error(let fault) = error else { throw error }
                throw refusal(fault, item, call)
            }
        }
        let isDry = call[TransactionUndo.dryRun]
        if isDry { abandon(transaction, call, storage) }
        let rev = isDry ? nil : storage.end(transaction)
        out.closeList()
        out.append(.changedAt, undone.at)
        if !undone.client.isEmpty { undone.client.withBytes { out.append(.client, $0) } }
        if isDry { out.append(.dryRun, true) }
        out.append(.rev, rev ?? storage.rev)
        if call.shows(transaction: rev, storage) { out.append(.durable, false) }
        out.closeObject()
    }

    /// The operation that brings an item back.
    /// - Returns: what that does with it.
    private static func append(
        _ item: UndoneRevision.Item, _ undone: UndoneRevision, to operation: inout ByteBuffer, _ call: Call,
        _ storage: isolated Storage
    ) throws(Refusal) -> StaticString {
        let ifRev = item.effect == .deleted ? 0 : item.seenRev ?? undone.rev
        guard item.effect != .created else {
            operation.append("delete", item, ifRev: ifRev)
            return "deleted"
        }
        guard item.wantsBefore else {
            operation.append("restore", item, ifRev: nil)
            return "restored"
        }
        guard !item.hasAttachments || item.effect != .deleted else {
            throw refusal(
                RPCError(.notSupported, hint: "its attachments have gone since, and do not come back"), item, call)
        }
        guard let before = item.before else {
            throw refusal(Refusal(ChangesError.compacted(oldestRev: storage.oldestRev), call: call), item, call)
        }
        try before.value.withBytes { (value) throws(Refusal) in
            let migrated = try call.run { () throws(DocumentsError) in
                item.isSetting
                    ? nil
                    : try item.scope.withBytes { (scope) throws(DocumentsError) in
                        try storage.documents.migrated(scope, value, of: before.rev)
                    }
            }
            operation.append("put", item, value: migrated ?? value, ifRev: ifRev)
        }
        return item.effect == .deleted ? "restored" : "replaced"
    }

    private static func refusal(_ refusal: Refusal, _ item: UndoneRevision.Item, _ call: Call) -> Refusal {
        guard case .error(let error) = refusal else { return refusal }
        return self.refusal(error, item, call)
    }
}

extension UndoneRevision {
    /// What the tables are asked for on the way.
    fileprivate var upcoming: [[UInt8]: DocumentsStore.Upcoming] {
        var upcoming: [[UInt8]: DocumentsStore.Upcoming] = [:]
        for item in items where item.store == .documents {
            if item.effect == .created {
                upcoming[item.scope, default: .init()].deleted.append(item.key)
            } else {
                upcoming[item.scope, default: .init()].changed.append(item.key)
            }
        }
        return upcoming
    }
}

extension UndoneRevision.Item {
    fileprivate var isSetting: Bool { store == .settings }

    /// `documents/notes/rice`
    fileprivate var path: String {
        "\(store.described.name)/\(String(decoding: scope, as: UTF8.self))/\(String(decoding: key, as: UTF8.self))"
    }

    fileprivate func isVisible(to visible: VisibleScopes) -> Bool {
        scope.withBytes { visible.admits(store, $0) }
    }
}

extension ByteBuffer {
    /// An operation of a transaction: a method of the item's store, and its parameters.
    fileprivate mutating func append(
        _ verb: StaticString, _ item: UndoneRevision.Item, value: Bytes? = nil, ifRev: UInt64?
    ) {
        let store = item.store.described
        openObject()
        append(.method, "\(store.name).\(verb)")
        openObject(.params)
        append(name: store.scopeWord)
        item.scope.withBytes { append(quoted: $0) }
        append(",")
        append(name: store.itemWord)
        item.key.withBytes { append(quoted: $0) }
        if let value { append(.value, json: value) }
        if let ifRev {
            append(",")
            append(name: "ifRev")
            append(integer: Int64(ifRev))
        }
        closeObject()
        closeObject()
    }

    private mutating func append(name: StaticString) {
        append("\"")
        append(name)
        append("\":")
    }

    /// One of `items`.
    fileprivate mutating func append(_ item: UndoneRevision.Item, _ done: StaticString) {
        openObject()
        append(.store, word: item.store.described.name)
        item.scope.withBytes { append(.scope, $0) }
        item.key.withBytes { append(.key, $0) }
        append(.done, word: done)
        closeObject()
    }

    /// Whether an operation's result has this member. In no value stand such quotes.
    fileprivate func contains(_ member: NumberMember) -> Bool {
        String(decoding: bytes, as: UTF8.self).contains("\(member.text)")
    }
}
