import Glibc
import KuraBytes
import KuraClient
import KuraProtocol

/// `kura replay`: plays a recording into a daemon that is thrown away, and tells what was answered otherwise and how long it took.
enum ReplayCommand {
    static let tool = Tool(
        noun: nil, word: "replay", arguments: ["FILE"],
        options: [
            .init(
                name: "speed", value: "N|max",
                summary: "So many times as fast as it was recorded, as in 0.5 or 10; max: without pauses. At first 1."),
            .init(
                name: "loop", value: "N",
                summary: "Play it N times, each into a new daemon; 0: until it is interrupted."),
            .init(
                name: "expect", value: "same",
                summary: "Exit with 13 unless every request was recorded, and answered as then.", choices: ["same"]),
            .init(name: "differences", value: nil, summary: "List every request that was answered otherwise."),
            .init(
                name: "config", value: "CONFIG",
                summary: "The daemon has the roles, limits and caches of this configuration of kurad."),
            .init(
                name: "yes", value: nil, summary: "With --socket: play it into that daemon, which keeps what it writes."
            ),
        ],
        summary: "Play a recording of 'kura record' into a daemon of its own, and compare.",
        explanation: [
            "Each recorded connection is one here. A request is sent when its time has come, all replies are there that had come before it, and the "
                + "daemon has read the lines that it had read before, so that it sees what it saw then, whatever the speed. What the clock ends may "
                + "come out differently. Ids, revisions, cursors and tokens that the daemon made up are replaced by those that this one makes up in "
                + "their place.",
            "It prints how long requests took by method, then within the daemon ('in'), now as a client sees it ('trip', many times as long for "
                + "what is short), and where an outcome is another: a result instead of an error, an error "
                + "of another kind, or a result in which something is missing, new, or of another number. Values are not compared: they are not "
                + "in the recording. What the recorded daemon had before is not there, so requests for it are answered otherwise; record from a "
                + "daemon's beginning for a test.",
            "All connections have the role admin. With --config each has the role that it had, where CONFIG has one of its name, with its grants and "
                + "quotas; of its sockets and of what names other files only settingsLocks and seedBundle are taken. '{uid}' in a grant is the "
                + "user who replays.",
            "The daemon is 'kurad --ephemeral', beside kura or in $PATH. With --socket it is that one instead, and --yes says that what is "
                + "there may be changed. A recording that was cut off is played up to its last whole line; neither that nor an empty one is the "
                + "same. Interrupted, it tells what there is and ends by the signal; --loop 0 ends so in any case, as if it was done.",
        ],
        examples: [
            "kura replay monday.jsonl", "kura replay monday.jsonl --speed max --loop 5",
            "kura replay fault.jsonl --expect same",
        ],
        takesFile: true)

    /// Bytes of a recording: all of it is in memory.
    private static let largest = 4 << 30
    /// Milliseconds that a daemon has to begin.
    private static let patience = 60_000

    static func run(
        _ arguments: ToolArguments, _ options: GlobalOptions, _ console: Console
    ) throws(Failure) -> ExitCode {
        try arguments.check(least: 1, most: 1)
        let speed = try speed(arguments.value("speed"))
        let rounds = try rounds(arguments.value("loop"))
        if let expected = arguments.value("expect"), expected != "same" {
            throw .usage("--expect takes same, not '\(expected)'")
        }
        let socket = options.namesSocket ? options.socket(console.environment) : nil
        guard socket == nil || arguments.has("yes") else {
            throw .usage(
                "a replay changes what the daemon at \(socket ?? "") keeps",
                hint: "--yes has it done all the same; without --socket it is played into a daemon that is thrown away")
        }
        guard socket == nil || arguments.value("config") == nil else {
            throw .usage("--config is for a daemon that is thrown away, and --socket names one that is there")
        }
        var configuration: ReplayConfiguration?
        if let file = arguments.value("config") { configuration = try ReplayConfiguration(file) }
        let path = arguments.words[0]
        let traffic = try read(path)
        remark(on: traffic, path, console)
        remark(onRolesOf: traffic, path, socket, configuration, console)
        if socket == nil, traffic.rev > 0 {
            console.remark("\(path) begins at revision \(traffic.rev), not 0: what was there before is not here")
        }
        Interruptions.watch()
        defer { Interruptions.unwatch() }
        var found = Rounds(planned: rounds)
        while !found.areDone && !Interruptions.haveCome {
            let tally = try play(traffic, socket, configuration, speed)
            found.take(tally)
            show(tally, found, arguments, options, console)
        }
        if rounds != 1, options.form == .standard, !console.isQuiet { console.print(found.summary) }
        if Interruptions.haveCome, rounds != 0 { Interruptions.passOn() }
        return arguments.has("expect") && !found.areSame ? .negative : .done
    }

    /// How often it is played, and what came of it.
    private struct Rounds {
        /// 0: until somebody interrupts it.
        let planned: Int
        private(set) var played = 0
        private var whole = 0
        private var same = 0
        private var different = 0

        init(planned: Int) { self.planned = planned }

        var areDone: Bool { planned != 0 && played == planned }

        mutating func take(_ tally: ReplayTally) {
            played += 1
            if tally.differences > 0 { different += 1 }
            if !tally.isInterrupted { whole += 1 }
            if tally.isSame { same += 1 }
        }

        /// Whether all that were played to their end were the same; the last one of many may have been interrupted.
        var areSame: Bool { different == 0 && same > 0 && same == whole && (planned == 0 || same == planned) }

        var heading: String { "run \(played)" + (planned == 0 ? "" : " of \(planned)") + ":\n" }

        var summary: String {
            let runs = ReplayTally.count(played, "run")
            return (different == 0 ? "none of \(runs)" : "\(different) of \(runs)") + " differed"
                + (whole < played || played < planned ? ", before it was interrupted\n" : "\n")
        }
    }

    private static func read(_ path: String) throws(Failure) -> RecordedTraffic {
        let text: [UInt8]
        do throws(ParameterList.Fault) { text = try Input.read(path, atMost: largest) } catch {
            throw .usage(error.description)
        }
        return try RecordedTraffic(text, path)
    }

    private static func remark(on traffic: RecordedTraffic, _ path: String, _ console: Console) {
        if !traffic.isWhole {
            console.remark("\(path) was cut off: it is played up to its last whole line")
        }
        if traffic.dropped > 0 {
            console.remark(
                "\(path) lacks \(traffic.dropped) requests and replies, which came faster than they were written")
        }
        if traffic.version != Kura.version {
            console.remark("\(path) was recorded from version \(traffic.version), and this is \(Kura.version)")
        }
    }

    private static func remark(
        onRolesOf traffic: RecordedTraffic, _ path: String, _ socket: String?, _ configuration: ReplayConfiguration?,
        _ console: Console
    ) {
        let there = configuration?.roles ?? ["admin"]
        let missing = traffic.roles.filter { !there.contains($0) }.map { Visible.line($0) }.joinedByCommas
        guard !missing.isEmpty else { return }
        let names = missing.contains(",") ? "the roles \(missing), which are" : "the role \(missing), which is"
        console.remark(
            "\(path) has connections of \(names) "
                + (socket != nil
                    ? "here that of the socket"
                    : configuration == nil
                        ? "admin here: --config gives the daemon roles" : "not in that configuration, and admin here"))
    }

    private static func play(
        _ traffic: RecordedTraffic, _ socket: String?, _ configuration: ReplayConfiguration?, _ speed: Replay.Speed
    ) throws(Failure) -> ReplayTally {
        if let socket { return try Replay(traffic, to: ["admin": socket], speed: speed).run() }
        let daemon = try ThrowAwayDaemon(configuration)
        defer { withExtendedLifetime(daemon) {} }
        for path in daemon.sockets.values { try awaitStart(of: daemon, path) }
        return try Replay(traffic, to: daemon.sockets, speed: speed).run()
    }

    private static func awaitStart(of daemon: ThrowAwayDaemon, _ path: String) throws(Failure) {
        var waited = 0
        while true {
            do throws(Failure) {
                _ = try ReplayConnection(to: path)
                return
            } catch {
                guard waited < patience, !daemon.hasEnded else {
                    throw Failure(status: .noDaemon, message: "the daemon to play it into does not start")
                }
            }
            usleep(5000)
            waited += 5
        }
    }

    private static func show(
        _ tally: ReplayTally, _ rounds: Rounds, _ arguments: ToolArguments, _ options: GlobalOptions, _ console: Console
    ) {
        guard !console.isQuiet else { return }
        let listsAll = arguments.has("differences")
        guard options.form == .standard else {
            return console.print(line: tally.json(run: rounds.played, listsAll: listsAll))
        }
        if rounds.planned != 1 { console.print((rounds.played > 1 ? "\n" : "") + rounds.heading) }
        // Lines are cut for a terminal only.
        let width = console.output.isTerminal ? console.width : .max
        console.print(tally.text(width: width, style: console.style, listsAll: listsAll))
    }

    private static func speed(_ text: String?) throws(Failure) -> Replay.Speed {
        guard let text else { return .times(1) }
        if text == "max" { return .most }
        guard let factor = Double(text), factor >= 0.001, factor <= 1_000_000 else {
            throw .usage("--speed takes a number, such as 0.5 or 10, or max, not '\(text)'")
        }
        return .times(factor)
    }

    private static func rounds(_ text: String?) throws(Failure) -> Int {
        guard let text else { return 1 }
        guard let rounds = Int(text), (0...1_000_000).contains(rounds) else {
            throw .usage("--loop takes a number, or 0 for ever, not '\(text)'")
        }
        return rounds
    }
}
