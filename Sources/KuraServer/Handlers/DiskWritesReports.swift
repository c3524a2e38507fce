import KuraBytes
import KuraProtocol
import KuraStorage

/// Budgets, reports and advice of the write bill, as `storage.diskWrites` tells them.
enum DiskWritesReports {
    static func append(_ budgets: [WriteBudgetState], to out: inout ByteBuffer) {
        list(.budgets, budgets, &out) { state, out in
            append(state.budget.target, to: &out)
            out.append(.diskWriteBudget, state.budget.bytesPerDay)
            out.append(.bytes, state.spent)
            out.append(.throttle, state.budget.throttles)
            out.append(.throttled, state.isThrottled)
        }
    }

    static func append(_ reports: [WriteReport], to out: inout ByteBuffer) {
        list(.reports, reports, &out) { report, out in
            out.append(.id, report.id)
            append(report.target, to: &out)
            out.append(.diskWriteBudget, report.bytesPerDay)
            out.append(.openedAt, report.openedAt)
            out.append(.lastAt, report.lastAt)
            out.append(.count, report.days)
            out.append(.bytes, report.bytes)
            out.append(.share, report.totalBytes > 0 ? report.bytes * 100 / report.totalBytes : 0)
            append(report.clients, named: .clients, to: &out)
            append(report.methods, named: .methods, to: &out)
            list(.keys, report.keys, &out) { key, out in
                out.append(.store, "\(key.store)")
                out.append(.scope, text(key.scope))
                out.append(.key, text(key.key))
                out.append(.changes, key.changes)
            }
            out.openList(.batchSizes)
            for size in report.batchSizes {
                out.beginElement()
                out.append(integer: Int64(size))
            }
            out.closeList()
        }
    }

    static func append(_ advice: [WriteAdvice], to out: inout ByteBuffer) {
        list(.advice, advice, &out) { advice, out in
            out.append(.kind, "\(advice.kind)")
            out.append(.store, "\(advice.store)")
            if !advice.scope.isEmpty { out.append(.scope, text(advice.scope)) }
            if !advice.key.isEmpty { out.append(.key, text(advice.key)) }
            if !advice.client.isEmpty { out.append(.client, text(advice.client)) }
            if !advice.operation.isEmpty { out.append(.method, advice.operation) }
            out.append(.count, advice.count)
            out.append(advice.kind == .scan ? .documents : .bytes, advice.cost)
            out.append(.what, what(advice))
            out.append(.fix, fix(advice))
            out.append(.lastAt, advice.lastAt)
        }
    }

    private static func append(_ parts: [WriteReport.Part], named name: ListMember, to out: inout ByteBuffer) {
        list(name, parts, &out) { part, out in
            out.append(.name, text(part.name))
            out.append(.changes, part.changes)
            out.append(.bytes, part.bytes)
        }
    }

    private static func list<Element>(
        _ name: ListMember, _ elements: [Element], _ out: inout ByteBuffer,
        _ body: (Element, inout ByteBuffer) -> Void
    ) {
        out.openList(name)
        for element in elements {
            out.openObject()
            body(element, &out)
            out.closeObject()
        }
        out.closeList()
    }

    private static func append(_ target: WriteBudget.Target, to out: inout ByteBuffer) {
        switch target {
        case .store(let store): out.append(.store, "\(store)")
        case .client(let name): out.append(.client, text(name))
        }
    }

    private static func text(_ name: [UInt8]) -> String { String(decoding: name, as: UTF8.self) }

    // MARK: Sentences

    private static func what(_ advice: WriteAdvice) -> String {
        let client = advice.client.isEmpty ? "a client without a name" : text(advice.client)
        switch advice.kind {
        case .rewrittenKey:
            return
                "\(text(advice.key)) of \(text(advice.scope)) is written up to \(advice.peak) times a minute, \(advice.count) times so far: "
                + "about \(size(advice.cost)) for values that did not last a minute"
        case .sameValue:
            return "\(client) wrote by \(advice.operation) what was there already, \(advice.count) times: "
                + "nothing reached the disk, each was a request for nothing"
        case .oneByOne:
            return "\(client) made \(advice.count) changes by \(advice.operation), one a request: "
                + "about \(size(advice.cost)) more than the same changes take together"
        case .scan:
            return
                "\(advice.count) queries looked at \(advice.cost) documents of \(text(advice.scope)), without an index"
        case .shortLivedBlob:
            return "\(client) deleted \(advice.count) blobs of \(text(advice.scope)) within a minute of storing them: "
                + "about \(size(advice.cost)), files made and removed included"
        }
    }

    private static func fix(_ advice: WriteAdvice) -> String {
        switch advice.kind {
        case .rewrittenKey:
            return advice.store.isDurable
                ? "keep it in memory and write it every few seconds, or configure its scope with durability relaxed"
                : "store it when it is fetched, and not for each use; models.touch renews what has not changed"
        case .sameValue:
            return "write only what has changed; changes.watch tells what others have written"
        case .oneByOne:
            let many = Method.all.first { $0.name == "\(advice.operation)Many" && $0.verb == "put-many" }
            return many.map { "\($0.name) or transaction.apply, up to 1,000 at once" }
                ?? "transaction.apply, up to 1,000 at once"
        case .scan: return advice.remedy
        case .shortLivedBlob:
            return
                "keep what lives so shortly in memory or in a file of your own; small ones, up to 16 KiB, cost no file"
        }
    }

    private static func size(_ bytes: Int) -> String {
        bytes < 10_240 ? "\(bytes) bytes" : bytes < 10 << 20 ? "\(bytes >> 10) KiB" : "\(bytes >> 20) MiB"
    }
}
