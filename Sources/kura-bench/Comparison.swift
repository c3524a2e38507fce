/// The medians of the rounds of two targets and the ratio between them.
struct Comparison {
    private let rounds: [(a: LoadResult, b: LoadResult)]

    /// - Parameter rounds: at least one.
    init(_ rounds: [(a: LoadResult, b: LoadResult)]) {
        precondition(!rounds.isEmpty)
        self.rounds = rounds
    }

    var voidReason: String? {
        rounds.flatMap { [$0.a, $0.b] }.compactMap(\.voidReason).first
    }

    private func rate(_ side: KeyPath<(a: LoadResult, b: LoadResult), LoadResult>) -> Double {
        Comparison.median(rounds.map { $0[keyPath: side].operationsPerSecond })
    }

    private func latency(_ side: KeyPath<(a: LoadResult, b: LoadResult), LoadResult>, _ fraction: Double) -> Double {
        Comparison.median(rounds.map { $0[keyPath: side].latencies.quantile(fraction) })
    }

    /// Median of A over median of B.
    var ratio: Double { rate(\.a) / max(rate(\.b), 1) }

    /// Each round's A over the same round's B.
    var pairedRatios: [Double] {
        rounds.map { $0.a.operationsPerSecond / max($0.b.operationsPerSecond, 1) }
    }

    static func median(_ values: [Double]) -> Double {
        let sorted = values.sorted()
        let middle = sorted.count / 2
        return sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
    }

    var text: String {
        var lines = ["\(rounds[0].a.options.summary), \(rounds.count) rounds"]
        lines.append(line("a", \.a))
        lines.append(line("b", \.b))
        let spread = "\(Format.fixed(pairedRatios.min()!, 2))–\(Format.fixed(pairedRatios.max()!, 2))"
        lines.append("  a/b \(Format.fixed(ratio, 2))  (\(spread) over the rounds)")
        if let reason = voidReason { lines.append("  VOID: \(reason)") }
        return lines.joined(separator: "\n")
    }

    private func line(_ name: String, _ side: KeyPath<(a: LoadResult, b: LoadResult), LoadResult>) -> String {
        let quantiles = [0.5, 0.99, 0.999].map { Format.microseconds(latency(side, $0)) }.joined(separator: " / ")
        let target = rounds[0][keyPath: side].target.wire.rawValue
        return "  \(name) \(target): \(Format.fixed(rate(side), 0)) ops/s, p50 / p99 / p99.9 \(quantiles) µs"
    }

    var json: String {
        Format.object([
            ("load", Format.string(rounds[0].a.options.summary)),
            ("rounds", "\(rounds.count)"),
            ("a", side(\.a)),
            ("b", side(\.b)),
            ("ratio", Format.fixed(ratio, 3)),
            ("ratioMin", Format.fixed(pairedRatios.min()!, 3)),
            ("ratioMax", Format.fixed(pairedRatios.max()!, 3)),
            ("void", voidReason.map(Format.string) ?? "null"),
        ])
    }

    private func side(_ side: KeyPath<(a: LoadResult, b: LoadResult), LoadResult>) -> String {
        Format.object([
            ("target", Format.string(rounds[0][keyPath: side].target.wire.rawValue)),
            ("opsPerSecond", Format.fixed(rate(side), 0)),
            ("p50Us", Format.microseconds(latency(side, 0.5))),
            ("p99Us", Format.microseconds(latency(side, 0.99))),
            ("p999Us", Format.microseconds(latency(side, 0.999))),
            ("each", Format.array(rounds.map { Format.fixed($0[keyPath: side].operationsPerSecond, 0) })),
        ])
    }
}
