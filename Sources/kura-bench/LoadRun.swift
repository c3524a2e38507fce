/// One measured load against one target, with the revision asked before and after.
enum LoadRun {
    static func measure(_ target: Target, _ options: LoadOptions) throws -> LoadResult {
        let revision = try Revision(of: target, room: options.room)
        let before = try revision.current()
        let tally: Tally
        if options.processes > 0 {
            tally = try ChildProcesses.run(target, options)
        } else {
            var generator = try Generator.prepare(Plan(target: target, options: options))
            tally = try generator.run()
        }
        let after = try revision.current()
        return LoadResult(target: target, options: options, tally: tally, revisionBefore: before, revisionAfter: after)
    }

    /// Puts every key once, so that reads find what they ask for.
    static func preload(_ target: Target, _ options: LoadOptions) throws {
        let plan = Plan.preload(target: target, options: options)
        let revision = try Revision(of: target, room: options.room)
        let before = try revision.current()
        var generator = try Generator.prepare(plan)
        let tally = try generator.run()
        let after = try revision.current()
        let result = LoadResult(
            target: target, options: plan.options, tally: tally, revisionBefore: before, revisionAfter: after)
        if let reason = result.voidReason { throw BenchError.void("preload: \(reason)") }
    }
}
