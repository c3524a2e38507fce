import KuraBytes
import KuraProtocol
import KuraStorage

/// Answers what the daemon has measured of itself: `daemon` of `storage.stats`, and `storage.slow`.
enum ObservationHandlers {
    static let all: [String: Handler] = ["storage.slow": slow]

    static func slow(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        let log = call.server.latencies.slow
        let methods = call.reader.table.methods
        var object = ObjectWriter(&out)
        object.number("thresholdMilliseconds", log.milliseconds, &out)
        object.number("count", Int(clamping: log.count), &out)
        object.name("items", &out)
        out.append("[")
        for (position, entry) in log.newest(Int(call[StorageSlow.limit] ?? 20)).enumerated() {
            if position > 0 { out.append(",") }
            var inner = ObjectWriter(&out)
            inner.number("number", Int(clamping: entry.number), &out)
            inner.name("at", &out)
            out.append(timestamp: entry.at)
            inner.text("method", methods[entry.method].name, &out)
            inner.number("requests", Int(clamping: entry.count), &out)
            inner.number("microseconds", Int(clamping: entry.nanoseconds / 1000), &out)
            inner.name("waitedFor", &out)
            out.append("[")
            for (index, name) in Waits.names.filter({ entry.waits.contains($0.0) }).map(\.1).enumerated() {
                if index > 0 { out.append(",") }
                out.append(quoted: name)
            }
            out.append("]")
            inner.text("client", String(decoding: entry.client, as: UTF8.self), &out)
            if entry.user != .max { inner.number("user", Int(entry.user), &out) }
            inner.text("role", entry.role, &out)
            out.append("}")
        }
        out.append("]}")
    }

    /// `full`: with the buckets of all histograms.
    static func append(daemonOf call: Call, full: Bool, to out: inout ByteBuffer, _ storage: isolated Storage) {
        let latencies = call.server.latencies
        let measures = storage.measures()
        var object = ObjectWriter(&out)
        object.number(
            "uptimeMilliseconds", Int(clamping: (call.clock.monotonic - latencies.startedAt) / 1_000_000), &out)
        object.name("requests", &out)
        append(latencies, call.reader.table, full, to: &out)
        object.numbers(
            "refusals",
            ErrorKind.allCases.compactMap { kind in
                let count = latencies.kinds[Int(kind.rawValue)]
                return count > 0 ? ("\(kind.facts.name)", Int(clamping: count)) : nil
            }, &out)
        for (name, time, size, sizeName) in [
            ("commits", nil, measures.commits, "changes"),
            ("syncs", measures.syncTimes, measures.syncRevs, "revisions"),
            ("folds", measures.folds, measures.foldChanges, "changes"),
            ("checkpoints", measures.checkpoints, nil, ""),
        ] as [(String, Histogram?, Histogram?, String)] {
            object.name(name, &out)
            var inner = ObjectWriter(&out)
            if let time {
                inner.name("time", &out)
                append(times: time, full, to: &out)
            }
            if let size {
                inner.name(sizeName, &out)
                append(sizes: size, full, to: &out)
            }
            out.append("}")
        }
        object.number("walBytes", measures.walBytes, &out)
        object.numbers("queues", call.server.queues().members, &out)
        object.numbers(
            "documents",
            [("hits", Int(clamping: measures.documentHits)), ("misses", Int(clamping: measures.documentMisses))], &out)
        object.numbers(
            "slow",
            [
                ("thresholdMilliseconds", latencies.slow.milliseconds), ("count", Int(clamping: latencies.slow.count)),
            ], &out)
        out.append("}")
    }

    private static func append(_ latencies: Latencies, _ table: MethodTable, _ full: Bool, to out: inout ByteBuffer) {
        let used = latencies.methods.indices.filter { latencies.methods[$0].count > 0 || latencies.refusals[$0] > 0 }
        out.append("[")
        let most = used.sorted { latencies.methods[$0].sum > latencies.methods[$1].sum }
        for (position, method) in most.enumerated() {
            if position > 0 { out.append(",") }
            var object = ObjectWriter(&out)
            object.text("method", table.methods[method].name, &out)
            object.number("refused", Int(clamping: latencies.refusals[method]), &out)
            object.name("latency", &out)
            append(times: latencies.methods[method], full, to: &out)
            out.append("}")
        }
        out.append("]")
    }

    private static func append(times histogram: Histogram, _ full: Bool, to out: inout ByteBuffer) {
        var object = ObjectWriter(&out)
        object.number("count", Int(clamping: histogram.count), &out)
        object.number("sumMicroseconds", Int(clamping: histogram.sum / 1000), &out)
        object.number("maxNanoseconds", Int(clamping: histogram.max), &out)
        append(ranks: histogram, suffix: "Nanoseconds", full, to: &object, &out)
    }

    private static func append(sizes histogram: Histogram, _ full: Bool, to out: inout ByteBuffer) {
        var object = ObjectWriter(&out)
        object.number("count", Int(clamping: histogram.count), &out)
        object.number("sum", Int(clamping: histogram.sum), &out)
        object.number("max", Int(clamping: histogram.max), &out)
        append(ranks: histogram, suffix: "", full, to: &object, &out)
    }

    private static func append(
        ranks histogram: Histogram, suffix: String, _ full: Bool, to object: inout ObjectWriter, _ out: inout ByteBuffer
    ) {
        for (name, perMille) in [("p50", 500), ("p90", 900), ("p99", 990), ("p999", 999)] as [(String, UInt64)] {
            object.number(name + suffix, Int(clamping: histogram.value(perMille: perMille)), &out)
        }
        if full {
            object.name("buckets", &out)
            var inner = ObjectWriter(&out)
            histogram.forEachBucket { bound, count in
                inner.number(String(bound), Int(clamping: count), &out)
            }
            out.append("}")
        }
        out.append("}")
    }
}
