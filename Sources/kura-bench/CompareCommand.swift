/// `compare`: the same load on two targets in turn, round after round.
enum CompareCommand {
    static func run(_ arguments: inout Arguments) throws {
        let first = try arguments.target("--a")
        let second = try arguments.target("--b")
        let rounds = try arguments.integer("--rounds", default: 5, in: 1...1000)
        let settle = try arguments.decimal("--settle", default: 0.5, in: 0...3600)
        let options = try LoadOptions(&arguments)
        try arguments.finish()

        if options.preload {
            try LoadRun.preload(first, options)
            try LoadRun.preload(second, options)
        }
        var results: [(a: LoadResult, b: LoadResult)] = []
        for _ in 0..<rounds {
            // What a server still does for the round before (folding, rewriting) must not burden the next one.
            Clock.sleep(seconds: settle)
            let a = try LoadRun.measure(first, options)
            Clock.sleep(seconds: settle)
            let b = try LoadRun.measure(second, options)
            results.append((a, b))
        }
        let comparison = Comparison(results)
        Output.line(options.json ? comparison.json : comparison.text)
        if let reason = comparison.voidReason { throw BenchError.void(reason) }
    }
}
