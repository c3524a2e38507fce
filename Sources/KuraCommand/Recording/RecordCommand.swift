import Glibc
import KuraBytes
import KuraClient
import KuraProtocol

/// `kura record`: what a daemon is asked, into a local file.
enum RecordCommand {
    static let tool = Tool(
        noun: nil, word: "record", arguments: ["FILE"],
        options: [
            .init(name: "seconds", value: "N", summary: "End by itself after so long; else ^C ends it."),
            .init(
                name: "replace", value: nil, summary: "FILE may be there: it is replaced when the recording has begun."),
        ],
        summary: "Write what the daemon is asked into a file, with times and connections, for 'kura replay'.",
        explanation: [
            "A line of JSON for each request of any connection, each reply's outcome, and connections that come and go, until it is "
                + "interrupted. Of replies there is what a replay needs: the kind of error, and the ids, revisions, cursors and tokens that the "
                + "daemon made up. The role needs the verb admin on the store 'storage'.",
            "Secrets, passphrases and tokens are replaced by others of the same length, and so are the names of secrets and services; the same "
                + "value is replaced by the same one throughout the file, by a key that nobody keeps. Settings, documents and cached values "
                + "are in the file as they were written: it is readable by its owner alone.",
            "What comes faster than FILE takes it is left out and counted; the daemon waits for nothing. FILE is there when the recording has "
                + "begun, and has what came whatever ends it: a full disk, or the end of kura or of the daemon. Without its last line it was cut "
                + "off, which 'kura replay' tells. '-' is standard output.",
        ],
        examples: ["kura record monday.jsonl", "kura record monday.jsonl --seconds 60", "kura record - >monday.jsonl"],
        takesFile: true)

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
        var start = RecordingStart(isEndless: arguments.value("seconds") == nil, console)
        let result: [UInt8]
        do throws(Failure) {
            result = try session.result(
                try catalogue.method(named: "storage.record"), Array(parameters.utf8), passing: draft.descriptor
            ) {
                start.look(at: draft)
                return Interruptions.haveCome || start.failure != nil
            }
        } catch {
            guard error.isConnectionLost || start.hasBegun else { throw error }
            // The lines that came before may show what somebody looks for.
            if start.hasBegun { try draft.sync() } else { try draft.finish() }
            if error.isConnectionLost, let counts = awaitEnd(of: draft) {
                console.remark("the daemon ended it")
                show(counts, path, options, console)
                return .done
            }
            var failure = error
            if !draft.isStandardOutput {
                failure.hint = "\(Visible.line(path)) has what came until then; 'kura replay' plays it"
            }
            throw failure
        }
        if let failure = start.failure { throw failure }
        try draft.expect(JSONObject(result)?.integer("bytes"), .bytes)
        if start.hasBegun { try draft.sync() } else { try draft.finish() }
        show(result, path, options, console)
        return .done
    }

    /// When the connection ends, the daemon may still be about to write the last line: then the recording is whole.
    /// - Returns: what the last line says.
    private static func awaitEnd(of draft: borrowing DraftFile) -> [UInt8]? {
        for _ in 0..<20 {
            let lines = draft.tail(4096).split(separator: 0x0A, omittingEmptySubsequences: false)
            if lines.last == [], let end = lines.dropLast().last.flatMap({ JSONObject($0) })?["end"] { return end }
            usleep(50_000)
        }
        return nil
    }

    private static func show(_ result: [UInt8], _ path: String, _ options: GlobalOptions, _ console: Console) {
        guard !console.isQuiet else { return }
        // The summary must not become a part of the recording.
        let place = DraftFile.namesStandardOutput(path) ? console.errors : console.output
        guard options.form == .standard, let object = JSONObject(result) else { return place.show(result + [0x0A]) }
        func number(_ name: String) -> Int64 { object.integer(name) ?? 0 }
        let dropped = number("dropped") > 0 ? ", \(number("dropped")) left out: they came too fast" : ""
        let bytes = object["bytes"] == nil ? "" : ", \(number("bytes")) bytes"
        let text =
            "\(Visible.line(path)): \(number("requests")) requests, \(number("replies")) replies\(dropped)\(bytes)\n"
        place.show(Array(text.utf8))
    }
}

/// Looks for the moment at which the daemon has begun: then the file gets its name, so that nothing takes away what comes.
private struct RecordingStart {
    private let isEndless: Bool
    private let console: Console
    private(set) var hasBegun = false
    private(set) var failure: Failure?

    init(isEndless: Bool, _ console: Console) { (self.isEndless, self.console) = (isEndless, console) }

    /// `draft`: a daemon that records writes a head first. A pipe does not show it; a daemon that refuses has refused by the time of this call.
    mutating func look(at draft: borrowing DraftFile) {
        guard !hasBegun, failure == nil, draft.isAnothers || !draft.tail(1).isEmpty else { return }
        do throws(Failure) { try draft.finish() } catch {
            failure = error
            return
        }
        hasBegun = true
        if isEndless { console.remark("recording; ^C ends it") }
    }
}
