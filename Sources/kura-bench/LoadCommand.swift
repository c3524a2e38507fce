/// `load` and `latency`: one load against one target.
enum LoadCommand {
    static func run(_ arguments: inout Arguments, needsRate: Bool) throws {
        let target = try arguments.target("--target")
        let options = try LoadOptions(&arguments)
        try arguments.finish()
        if needsRate && options.rate == 0 { throw BenchError.usage("latency wants --rate") }
        if options.preload { try LoadRun.preload(target, options) }
        let result = try LoadRun.measure(target, options)
        Output.line(options.json ? result.json : result.text)
        if let reason = result.voidReason { throw BenchError.void(reason) }
    }
}
