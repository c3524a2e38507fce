import KuraBytes

/// `kura metrics`: the daemon's numbers as Prometheus reads them, once or over HTTP.
enum MetricsCommand {
    static let tool = Tool(
        noun: nil, word: "metrics", arguments: [],
        options: [
            Tool.Option(
                name: "listen", value: "ADDRESS:PORT",
                summary:
                    "Serve them at http://ADDRESS:PORT/metrics instead; a loopback address, such as 127.0.0.1:9464.")
        ],
        summary: "Print the daemon's metrics in Prometheus' text format, or serve them.",
        explanation: [
            "Requests and their latencies by method, errors, batches, syncs, folds, checkpoints, queues, caches, connections, bytes written. "
                + "Labels are the daemon's own words: no names of scopes, clients or users. The role needs the verb monitor on the store "
                + "'storage'.",
            "With --listen it answers GET /metrics until it is interrupted, and asks the daemon each time; while that does not answer, kura_up "
                + "is 0. Only loopback addresses are taken: the numbers go to whoever reaches the port, which on loopback is every user of this "
                + "host. To let others have them, put something in front of it that knows who asks.",
        ],
        examples: ["kura metrics", "kura metrics --listen 127.0.0.1:9464"])

    /// Longest silence of the daemon, so that who scrapes is told in time.
    private static let timeoutMilliseconds: Int32 = 5000

    static func run(
        _ arguments: ToolArguments, _ options: GlobalOptions, _ console: Console, _ catalogue: Catalogue
    ) throws(Failure) -> ExitCode {
        try arguments.check(least: 0, most: 0)
        guard let address = arguments.value("listen") else {
            let text = try ask(options, console, catalogue)
            if !console.isQuiet { console.print(text) }
            return .done
        }
        let server = try MetricsServer(listeningAt: address) {
            // Who scrapes learns that the daemon is not there by the number that says so.
            do throws(Failure) { return try ask(options, console, catalogue) } catch {
                console.remark(error.message)
                return DaemonNumbers.metricsOfNobody
            }
        }
        console.remark("serving \(server.url)")
        try server.run()
    }

    private static func ask(
        _ options: GlobalOptions, _ console: Console, _ catalogue: Catalogue
    ) throws(Failure) -> String {
        var session = try Session.open(options, console, timeoutMilliseconds: timeoutMilliseconds)
        return try DaemonNumbers.ask(&session, catalogue).metrics
    }
}
