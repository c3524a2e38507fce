import KuraBytes
import KuraProtocol
import KuraStorage

/// Answers what the daemon has measured of itself: `daemon` of `storage.stats`, and `storage.slow`.
extension StorageHandlers {
    static func slow(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        let log = call.server.latencies.slow
        let methods = call.reader.table.methods
        out.openObject()
        out.append(.thresholdMilliseconds, log.milliseconds)
        out.append(.count, log.count)
        out.openList(.items)
        for entry in log.newest(Int(call[StorageSlow.limit] ?? 20)) {
            out.openObject()
            out.append(.number, entry.number)
            out.append(.at, entry.at)
            out.append(.method, methods[entry.method].name)
            out.append(.requests, entry.count)
            out.append(.microseconds, entry.nanoseconds / 1000)
            out.openList(.waitedFor)
            for (wait, name) in Waits.names where entry.waits.contains(wait) { out.append(element: name) }
            out.closeList()
            out.append(.client, String(decoding: entry.client, as: UTF8.self))
            if entry.user != .max { out.append(.user, entry.user) }
            out.append(.role, entry.role)
            out.closeObject()
        }
        out.closeList()
        out.closeObject()
    }

    /// The member `daemon`. `full`: with the buckets of all histograms.
    static func append(daemonOf call: Call, full: Bool, to out: inout ByteBuffer, _ storage: isolated Storage) {
        let latencies = call.server.latencies
        let measures = storage.measures()
        out.openObject(.daemon)
        out.append(.uptimeMilliseconds, (call.clock.monotonic - latencies.startedAt) / 1_000_000)
        append(latencies, call.reader.table, full, to: &out)
        out.openObject(.refusals)
        for kind in ErrorKind.allCases {
            let count = latencies.kinds[Int(kind.rawValue)]
            if count > 0 { out.append(key: "\(kind.facts.name)", Int(clamping: count)) }
        }
        out.closeObject()
        out.openObject(.commits)
        append(sizes: measures.commits, named: .changes, full, to: &out)
        out.closeObject()
        out.openObject(.syncs)
        append(times: measures.syncTimes, named: .time, full, to: &out)
        append(sizes: measures.syncRevs, named: .revisions, full, to: &out)
        out.closeObject()
        out.openObject(.folds)
        append(times: measures.folds, named: .time, full, to: &out)
        append(sizes: measures.foldChanges, named: .changes, full, to: &out)
        out.closeObject()
        out.openObject(.checkpoints)
        append(times: measures.checkpoints, named: .time, full, to: &out)
        out.closeObject()
        out.append(.walBytes, measures.walBytes)
        call.server.present().queues.append(to: &out)
        out.openObject(.documents)
        out.append(.hits, measures.documentHits)
        out.append(.misses, measures.documentMisses)
        out.closeObject()
        out.openObject(.slow)
        out.append(.thresholdMilliseconds, latencies.slow.milliseconds)
        out.append(.count, latencies.slow.count)
        out.closeObject()
        out.closeObject()
    }

    private static func append(_ latencies: Latencies, _ table: MethodTable, _ full: Bool, to out: inout ByteBuffer) {
        let used = latencies.methods.indices.filter { latencies.methods[$0].count > 0 || latencies.refusals[$0] > 0 }
        out.openList(.requests)
        for method in used.sorted(by: { latencies.methods[$0].sum > latencies.methods[$1].sum }) {
            out.openObject()
            out.append(.method, table.methods[method].name)
            out.append(.refused, latencies.refusals[method])
            append(times: latencies.methods[method], named: .latency, full, to: &out)
            out.closeObject()
        }
        out.closeList()
    }

    private static func append(
        times histogram: Histogram, named name: ObjectMember, _ full: Bool, to out: inout ByteBuffer
    ) {
        out.openObject(name)
        out.append(.count, histogram.count)
        out.append(.sumMicroseconds, histogram.sum / 1000)
        out.append(.maxNanoseconds, Int(clamping: histogram.max))
        let ranks: [NumberMember] = [.p50Nanoseconds, .p90Nanoseconds, .p99Nanoseconds, .p999Nanoseconds]
        append(ranks: ranks, of: histogram, full, to: &out)
        out.closeObject()
    }

    private static func append(
        sizes histogram: Histogram, named name: ObjectMember, _ full: Bool, to out: inout ByteBuffer
    ) {
        out.openObject(name)
        out.append(.count, histogram.count)
        out.append(.sum, Int(clamping: histogram.sum))
        out.append(.max, Int(clamping: histogram.max))
        append(ranks: [.p50, .p90, .p99, .p999], of: histogram, full, to: &out)
        out.closeObject()
    }

    private static func append(
        ranks names: [NumberMember], of histogram: Histogram, _ full: Bool, to out: inout ByteBuffer
    ) {
        for (name, perMille) in zip(names, [500, 900, 990, 999] as [UInt64]) {
            out.append(name, Int(clamping: histogram.value(perMille: perMille)))
        }
        guard full else { return }
        out.openObject(.buckets)
        histogram.forEachBucket { bound, count in out.append(key: String(bound), Int(clamping: count)) }
        out.closeObject()
    }
}
