/// The figures of one load, and whether they may be believed.
struct LoadResult {
    var target: Target
    var options: LoadOptions
    var tally: Tally
    var revisionBefore: UInt64?
    var revisionAfter: UInt64?

    /// Why the run is void; nil when it stands.
    ///
    /// A durable change raises Kura's revision by one. Fewer revisions than acknowledged writes mean that writes
    /// were acknowledged that changed nothing; more, that somebody else wrote too. A read that finds nothing is
    /// cheaper than one that does, so it may not count either.
    var voidReason: String? {
        if tally.misses > 0 {
            return "\(tally.misses) of \(tally.reads.total) reads found no value; load the keys with --preload"
        }
        // Reads of secrets are written to the audit, which is counted too.
        if options.room == .secrets, !options.mix.writes { return nil }
        if let before = revisionBefore, let after = revisionAfter {
            let rose = after >= before ? "\(after - before)" : "backwards by \(before - after)"
            if after < before || after - before != tally.acknowledgedWrites {
                return "the revision rose \(rose), for \(tally.acknowledgedWrites) acknowledged writes"
            }
        }
        return nil
    }

    var operationsPerSecond: Double { tally.operationsPerSecond }

    /// Latencies of reads and writes together.
    var latencies: Histogram {
        var all = tally.reads
        all.merge(tally.writes)
        return all
    }

    var text: String {
        var lines = ["\(target.wire.rawValue): \(options.summary)"]
        let seconds = Double(tally.elapsed) / 1e9
        lines.append("  \(Format.fixed(operationsPerSecond, 0)) ops/s over \(Format.fixed(seconds, 2)) s")
        if options.mix.reads && options.mix.writes {
            lines.append("  reads   " + LoadResult.text(tally.reads))
            lines.append("  writes  " + LoadResult.text(tally.writes))
        } else {
            lines.append("  latency " + LoadResult.text(latencies))
        }
        if options.mix.writes { lines.append("  acknowledged writes \(tally.acknowledgedWrites)") }
        if let before = revisionBefore, let after = revisionAfter {
            lines.append("  revision \(before) before, \(after) after")
        }
        if tally.unserved > 0 { lines.append("  \(tally.unserved) requests were due and never sent: rate too high") }
        if let reason = voidReason { lines.append("  VOID: \(reason)") }
        return lines.joined(separator: "\n")
    }

    private static func text(_ histogram: Histogram) -> String {
        let quantiles = [("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999), ("max", 1)]
        return quantiles.map { "\($0.0) \(Format.microseconds(histogram.quantile($0.1)))" }
            .joined(separator: "  ") + "  µs"
    }

    var json: String {
        var members = [
            ("target", Format.string(target.wire.rawValue)),
            ("load", Format.string(options.summary)),
            ("seconds", Format.fixed(Double(tally.elapsed) / 1e9, 3)),
            ("operations", "\(tally.operations)"),
            ("opsPerSecond", Format.fixed(operationsPerSecond, 0)),
        ]
        members += LoadResult.members(latencies)
        if options.mix.reads && options.mix.writes {
            members.append(("reads", Format.object(LoadResult.members(tally.reads))))
            members.append(("writes", Format.object(LoadResult.members(tally.writes))))
        }
        members.append(("acknowledgedWrites", "\(tally.acknowledgedWrites)"))
        members.append(("misses", "\(tally.misses)"))
        members.append(("unserved", "\(tally.unserved)"))
        if let before = revisionBefore { members.append(("revBefore", "\(before)")) }
        if let after = revisionAfter { members.append(("revAfter", "\(after)")) }
        members.append(("void", voidReason.map(Format.string) ?? "null"))
        return Format.object(members)
    }

    private static func members(_ histogram: Histogram) -> [(String, String)] {
        [
            ("p50Us", Format.microseconds(histogram.quantile(0.5))),
            ("p99Us", Format.microseconds(histogram.quantile(0.99))),
            ("p999Us", Format.microseconds(histogram.quantile(0.999))),
            ("maxUs", Format.microseconds(histogram.quantile(1))),
        ]
    }
}
