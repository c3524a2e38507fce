import KuraBytes
import KuraJSON
import KuraProtocol
import KuraStorage

/// Answers `documents.find` and what is like it: plans on the loop, has a reader thread do it, and answers with what that has found.
extension DocumentsHandlers {
    static func find(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        try answer(
            call, &out, storage,
            { (call, storage) throws(Refusal) in
                try page(call, expand: DocumentsFind.expand, at: DocumentsFind.atRev, storage)
            }
        ) { (found, call, out, storage) throws(Refusal) in
            guard let expansion = found.expansion else {
                try found.append(to: &out)
                return out.closeObject()
            }
            try append(found, expansion, call, to: &out, storage)
        }
    }

    /// The page with what it refers to. What was found stands there while that is being gathered.
    private static func append(
        _ found: FindPage, _ expansion: Expansion, _ call: Call, to out: inout ByteBuffer, _ storage: isolated Storage
    ) throws(Refusal) {
        for collection in expansion.collections { try call.demand(.read, of: collection) }
        guard !expansion.isOver else { throw Expansion.tooMany }
        call.goesOn { (call, out, storage) throws(Refusal) in try append(found, expansion, call, to: &out, storage) }
        call.memory.scratch.removeAll()
        var reply = GatheredReply(call, basis: expansion, storage)
        if reply.isNew {
            try found.append(to: &out)
            out.openObject(.expanded)
            reply.opened(out.count, call)
            reply.addedFirst()
        }
        try call.append(expansion, after: 0, basis: expansion, &reply, to: &out, storage)
        out.closeObject()
    }

    static func explain(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        try answer(call, &out, storage, { (call, storage) throws(Refusal) in try page(call, storage) }) {
            (found, _, out, _) in found.append(explanationTo: &out)
        }
    }

    private static func page(
        _ call: Call, expand: JSONParameter? = nil, at atRev: NumberParameter? = nil, _ storage: isolated Storage
    ) throws(Refusal) -> FindPage {
        let past = try past(call, atRev, storage)
        // An explanation is about a page of `find`.
        var parameters: [any Parameter] = [DocumentsFind.where, DocumentsFind.sort]
        if past != nil { parameters.append(DocumentsFind.atRev) }
        let list = try ListPage(
            call, cursor: DocumentsFind.cursor,
            of: call.queryIdentity(parameters, method: DocumentsFind.methodIndex, in: storage))
        let position = try call.position(of: list, DocumentsFind.cursor)
        let shape = QueryShape(
            selector: try call.selector(DocumentsFind.where), sort: try call.sortFields(DocumentsFind.sort),
            isPage: true, past: past)
        let fields = try call.paths(DocumentsFind.fields)
        let query = try call.query(
            shape, limit: Int(call[DocumentsFind.limit] ?? 100), after: position, allowScan: DocumentsFind.allowScan,
            timeout: DocumentsFind.timeoutMs, storage)
        return FindPage(
            query, list: list, fields: call.has(DocumentsFind.fields) ? Projection(fields) : nil,
            isSorted: !shape.sort.isEmpty,
            expansion: try expand.flatMap { expand throws(Refusal) in try call.expansion(expand, storage) },
            emptyAsOf: storage.rev)
    }

    private static func past(
        _ call: Call, _ atRev: NumberParameter?, _ storage: isolated Storage
    ) throws(Refusal) -> QueryShape.Past? {
        guard let atRev, let rev = call[atRev].map({ UInt64($0) }) else { return nil }
        try call.checkPast(rev, atRev, isAlone: !call.has(DocumentsFind.expand), storage)
        return QueryShape.Past(rev: rev, oldestRev: storage.oldestRev)
    }

    static func count(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        guard call.has(DocumentsCount.where), !call[DocumentsCount.where].equals("{}") else {
            let counted = storage.documents.count(call[DocumentsCount.collection])
            return call.appendCount(counted.count, to: &out, storage)
        }
        let count = { @Sendable (call: Call, storage: isolated Storage) throws(Refusal) in
            let query = try call.query(
                QueryShape(selector: try call.selector(DocumentsCount.where), countsOnly: true),
                allowScan: DocumentsCount.allowScan, timeout: DocumentsCount.timeoutMs, storage)
            return CountAnswer(query, emptyAsOf: storage.rev)
        }
        try answer(call, &out, storage, count) { (found, _, out, _) in found.append(to: &out) }
    }

    static func distinct(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        let values = { @Sendable (call: Call, storage: isolated Storage) throws(Refusal) in
            let list = try call.queryPage(
                cursor: DocumentsDistinct.cursor, of: DocumentsDistinct.field, DocumentsDistinct.where, in: storage)
            let position = try call.position(of: list, DocumentsDistinct.cursor)
            let path = try call.fieldPath(
                StoredValue(call.reader.json(DocumentsDistinct.field.position)), DocumentsDistinct.field, "")
            let shape = QueryShape(selector: try call.selector(DocumentsDistinct.where), values: path)
            let query = try call.query(
                shape, allowScan: DocumentsDistinct.allowScan, timeout: DocumentsDistinct.timeoutMs, storage)
            return DistinctPage(
                query, of: path, limit: Int(call[DocumentsDistinct.limit] ?? 100), after: position, list: list,
                emptyAsOf: storage.rev)
        }
        try answer(call, &out, storage, values) { (found, _, out, _) throws(Refusal) in try found.append(to: &out) }
    }

    static func aggregate(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        let groups = { @Sendable (call: Call, storage: isolated Storage) throws(Refusal) in
            let shape = QueryShape(selector: try call.selector(DocumentsAggregate.where))
            let groupBy = try call.paths(DocumentsAggregate.groupBy)
            let columns = try call.aggregateColumns(DocumentsAggregate.compute)
            let query = try call.query(
                shape, allowScan: DocumentsAggregate.allowScan, timeout: DocumentsAggregate.timeoutMs, storage)
            return AggregateAnswer(query, groupBy: groupBy, columns: columns, emptyAsOf: storage.rev)
        }
        try answer(call, &out, storage, groups) { (found, _, out, _) throws(Refusal) in try found.append(to: &out) }
    }

    /// Has the query run that `make` makes, and what it has found answered by `tell`: at once when that is brief, else the request waits.
    static func answer<Answer: DocumentsAnswer>(
        _ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage,
        _ make: @escaping @Sendable (Call, isolated Storage) throws(Refusal) -> Answer,
        then tell: @escaping @Sendable (Answer, Call, inout ByteBuffer, isolated Storage) throws(Refusal) -> Void
    ) throws(Refusal) {
        var wanted = try make(call, storage)
        guard let query = wanted.query else {
            // There is no such collection.
            call.shows(wanted.rev)
            return try tell(wanted, call, &out, storage)
        }
        if query.mayBeBrief {
            do throws(QueryError) {
                query.keepBrief(storage)
                try storage.runAtOnce(wanted)
                call.shows(wanted.rev)
            } catch {
                guard error == .engine(.cold) || error == .indexGone else { throw Refusal(error, call: call) }
                wanted = try make(call, storage)
                throw wait(for: wanted, call, storage, make, then: tell)
            }
            return try tell(wanted, call, &out, storage)
        }
        throw wait(for: wanted, call, storage, make, then: tell)
    }

    private static func wait<Answer: DocumentsAnswer>(
        for wanted: Answer, _ call: Call, _ storage: isolated Storage,
        _ make: @escaping @Sendable (Call, isolated Storage) throws(Refusal) -> Answer,
        then tell: @escaping @Sendable (Answer, Call, inout ByteBuffer, isolated Storage) throws(Refusal) -> Void
    ) -> Refusal {
        call.wait(for: storage.submit(wanted)) { (call, found: Answer, error, out, storage) throws(Refusal) in
            // An index that has gone since the query was planned: it is planned anew.
            if error == .indexGone { return try answer(call, &out, storage, make, then: tell) }
            try call.check(error)
            noteScan(found, call, storage)
            call.shows(found.rev)
            try tell(found, call, &out, storage)
        }
    }

    /// Documents that a scan looks at before it is worth advice.
    private static let notedScan = 1000

    /// A query has looked at many documents though an index could have helped: that belongs to the advice of the write bill.
    private static func noteScan(_ answer: some DocumentsAnswer, _ call: Call, _ storage: isolated Storage) {
        guard let query = answer.query, query.plan.isScan, query.cost.documents >= notedScan else { return }
        storage.bill.noteScan(
            of: call[InDocuments.collection], documents: query.cost.documents,
            remedy: IndexAdvice(for: query.shape).text)
    }
}

extension Call {
    func query(
        _ shape: QueryShape, limit: Int = .max, after position: QueryPosition? = nil, allowScan: FlagParameter,
        timeout: NumberParameter,
        _ storage: isolated Storage
    ) throws(Refusal) -> DocumentQuery? {
        let control = try queryControl(timeout)
        do throws(QueryError) {
            return try storage.documents.query(
                self[InDocuments.collection], shape, limit: limit, after: position, control: control,
                allowsScan: self[allowScan])
        } catch {
            throw refusal(ofQuery: error)
        }
    }

    /// Why a query is not begun.
    func refusal(ofQuery error: QueryError) -> Refusal {
        guard case .indexNeeded(let limit, let advice) = error else { return Refusal(error, call: self) }
        var refusal = RPCError(.indexNeeded, hint: "allowScan: true looks at every document", limit: limit)
        errorTexts.explain(&refusal, advice.text)
        return .error(refusal)
    }
}

/// What a reader thread makes of a query's documents.
class DocumentsAnswer: TableQuery, @unchecked Sendable {
    // Safety: has one user at a time, as the pool sees to.

    /// Nil: there is no such collection, and so no documents.
    let query: DocumentQuery?
    private let emptyAsOf: UInt64
    fileprivate(set) var elapsedMilliseconds = 0

    /// `emptyAsOf`: the revision at which there was no such collection.
    init(_ query: DocumentQuery?, emptyAsOf: UInt64) {
        self.query = query
        self.emptyAsOf = emptyAsOf
    }

    final var foldedTo: UInt64 { query?.foldedTo ?? 0 }
    final var rev: UInt64 { query?.rev ?? emptyAsOf }
    final var isLong: Bool { query.map { $0.plan.isLong } ?? false }
    final func stop() { query?.control.stop() }

    final func run(_ tables: TableReader) throws(QueryError) {
        guard let query else { return }
        let start = ContinuousClock.now
        try run(query, tables)
        elapsedMilliseconds = Int((ContinuousClock.now - start) / .milliseconds(1))
    }

    func run(_ query: DocumentQuery, _ tables: TableReader) throws(QueryError) {}

    var footprint: Int { 0 }
    func discard() {}

    /// The member `plan`.
    final func append(planTo out: inout ByteBuffer, isSorted: Bool = false) {
        let plan = query?.plan ?? QueryPlan(access: .none)
        out.openObject(.plan)
        switch plan.access {
        case .none: out.append(.access, word: "none")
        case .collection: out.append(.access, word: "collection")
        case .ids: out.append(.access, word: "ids")
        case .index(let index, _, _):
            out.append(.access, word: "index")
            out.append(.index, index.name)
        }
        out.append(.ranges, plan.ranges)
        out.append(.sort, word: plan.sortsInMemory ? "memory" : isSorted ? "access" : "none")
        out.closeObject()
    }

    /// The member `cursor`, when there is another page.
    final func append(cursor position: QueryPosition?, _ page: ListPage, to out: inout ByteBuffer) throws(Refusal) {
        guard let position else { return }
        let encoded = position.encoded
        guard ListPage.cursorBytes(encoded) <= WireLimits.cursorBytes else {
            throw .error(
                RPCError(
                    .replyTooLarge, hint: "the values to go on behind are longer than a cursor may be",
                    limit: WireLimits.cursorBytes))
        }
        encoded.withBytes { page.append(cursor: $0, rev: rev, to: &out) }
    }
}
