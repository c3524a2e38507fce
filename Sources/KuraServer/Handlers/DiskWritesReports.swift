import KuraBytes
import KuraProtocol
import KuraStorage

/// Budgets, reports and advice of the write bill, as `storage.diskWrites` tells them.
enum DiskWritesReports {
    static func append(_ budgets: [WriteBudgetState], to out: inout ByteBuffer) {
        list(budgets, &out) { state, object, out in
            append(state.budget.target, to: &object, &out)
            object.number("diskWriteBudget", state.budget.bytesPerDay, &out)
            object.number("bytes", state.spent, &out)
            object.boolean("throttle", state.budget.throttles, &out)
            object.boolean("throttled", state.isThrottled, &out)
        }
    }

    static func append(_ reports: [WriteReport], to out: inout ByteBuffer) {
        list(reports, &out) { report, object, out in
            object.number("id", report.id, &out)
            append(report.target, to: &object, &out)
            object.number("diskWriteBudget", report.bytesPerDay, &out)
            object.name("openedAt", &out)
            out.append(timestamp: report.openedAt)
            object.name("lastAt", &out)
            out.append(timestamp: report.lastAt)
            object.number("count", report.days, &out)
            object.number("bytes", report.bytes, &out)
            object.number("share", report.totalBytes > 0 ? report.bytes * 100 / report.totalBytes : 0, &out)
            for (name, parts) in [("clients", report.clients), ("methods", report.methods)] {
                object.name(name, &out)
                list(parts, &out) { part, object, out in
                    object.text("name", text(part.name), &out)
                    object.number("changes", part.changes, &out)
                    object.number("bytes", part.bytes, &out)
                }
            }
            object.name("keys", &out)
            list(report.keys, &out) { key, object, out in
                object.text("store", "\(key.store)", &out)
                object.text("scope", text(key.scope), &out)
                object.text("key", text(key.key), &out)
                object.number("changes", key.changes, &out)
            }
            object.name("batchSizes", &out)
            out.append("[")
            for (position, size) in report.batchSizes.enumerated() {
                if position > 0 { out.append(",") }
                out.append(integer: Int64(size))
            }
            out.append("]")
        }
    }

    static func append(_ advice: [WriteAdvice], to out: inout ByteBuffer) {
        list(advice, &out) { advice, object, out in
            object.text("kind", "\(advice.kind)", &out)
            object.text("store", "\(advice.store)", &out)
            for (name, value) in [("scope", advice.scope), ("key", advice.key), ("client", advice.client)]
            where !value.isEmpty { object.text(name, text(value), &out) }
            if !advice.operation.isEmpty { object.text("method", advice.operation, &out) }
            object.number("count", advice.count, &out)
            if advice.kind == .scan {
                object.number("documents", advice.cost, &out)
            } else {
                object.number("bytes", advice.cost, &out)
            }
            object.text("what", what(advice), &out)
            object.text("fix", fix(advice), &out)
            object.name("lastAt", &out)
            out.append(timestamp: advice.lastAt)
        }
    }

    private static func list<Element>(
        _ elements: [Element], _ out: inout ByteBuffer,
        _ body: (Element, inout ObjectWriter, inout ByteBuffer) -> Void
    ) {
        out.append("[")
        for (position, element) in elements.enumerated() {
            if position > 0 { out.append(",") }
            var object = ObjectWriter(&out)
            body(element, &object, &out)
            out.append("}")
        }
        out.append("]")
    }

    private static func append(_ target: WriteBudget.Target, to object: inout ObjectWriter, _ out: inout ByteBuffer) {
        switch target {
        case .store(let store): object.text("store", "\(store)", &out)
        case .client(let name): object.text("client", text(name), &out)
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
            let many = ["settings", "documents"].first { advice.operation == "\($0).put" }
            return many.map { "\($0).putMany or transaction.apply, up to 1,000 at once" }
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
