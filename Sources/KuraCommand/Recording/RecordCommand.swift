import KuraBytes
import KuraClient
import KuraProtocol

/// `kura record`: what a daemon is asked, into a local file.
enum RecordCommand {
    static let tool = Tool(
        noun: nil, word: "record", arguments: ["FILE"],
        options: [
            .init(name: "seconds", value: "N", summary: "End by itself after so long; else ^C ends it."),
            .replace(),
        ],
        summary: "Write what the daemon is asked into a file, with times and connections, for 'kura replay'.",
        explanation: [
            "A line of JSON for each request of any connection, each reply's outcome, and connections that come and go, until it is "
                + "interrupted. Of replies there is what a replay needs: the kind of error, and the ids, revisions, cursors and tokens that the "
                + "daemon made up. The role needs the verb admin on the store 'storage'.",
            "Secrets, passphrases and tokens are replaced by others of the same length, and so are the names of secrets and services; the same "
                + "value is replaced by the same one throughout the file, by a key that nobody keeps. Settings, documents and cached values "
                + "are in the file as they were written: it is readable by its owner alone.",
            "What comes faster than FILE takes it is left out and counted; the daemon waits for nothing. FILE gets its name when the recording "
                + "ends; '-' is standard output.",
        ],
        examples: ["kura record monday.jsonl", "kura record monday.jsonl --seconds 60"], takesFile: true)

    static func run(
        _ arguments: ToolArguments, _ options: GlobalOptions, _ console: Console, _ catalogue: Catalogue
    ) throws(Failure) -> ExitCode {
        try arguments.check(least: 1, most: 1)
        let path = arguments.words[0]
        var parameters = "{\"fd\":true}"
        if let text = arguments.value("seconds") {
            guard let seconds = Int64(text), (1...604_800).contains(seconds) else {
                throw .usage("--seconds takes a number from 1 to 604800, not '\(text)'")
            }
            parameters = "{\"fd\":true,\"seconds\":\(seconds)}"
        }
        let draft = try DraftFile(path, replaces: arguments.has("replace"))
        var session = try Session.open(options, console)
        Interruptions.watch()
        defer { Interruptions.unwatch() }
        if arguments.value("seconds") == nil { console.remark("recording; ^C ends it") }
        let result: [UInt8]
        do throws(Failure) {
            result = try session.result(
                try catalogue.method(named: "storage.record"), Array(parameters.utf8), passing: draft.descriptor
            ) { Interruptions.haveCome }
        } catch {
            guard error.isConnectionLost else { throw error }
            // The lines that came before the loss may show what somebody looks for.
            try draft.finish()
            var failure = error
            failure.hint = "\(Visible.line(path)) has what came until then; 'kura replay' plays it"
            throw failure
        }
        try draft.expect(JSONObject(result)?.integer("bytes"), .bytes)
        try draft.finish()
        show(result, path, options, console)
        return .done
    }

    private static func show(_ result: [UInt8], _ path: String, _ options: GlobalOptions, _ console: Console) {
        guard !console.isQuiet else { return }
        // The summary must not become a part of the recording.
        let place = DraftFile.namesStandardOutput(path) ? console.errors : console.output
        guard options.form == .standard, let object = JSONObject(result) else { return place.show(result + [0x0A]) }
        func number(_ name: String) -> Int64 { object.integer(name) ?? 0 }
        let dropped = number("dropped") > 0 ? ", \(number("dropped")) left out: they came too fast" : ""
        let text =
            "\(Visible.line(path)): \(number("requests")) requests, \(number("replies")) replies\(dropped), "
            + "\(number("bytes")) bytes\n"
        place.show(Array(text.utf8))
    }
}
