/// What load to offer; the same for every target of a comparison.
struct LoadOptions {
    enum Room: String {
        case settings
        case documents
        case secrets
        case models
    }

    /// Share of writes among the requests.
    enum Mix: Equatable {
        case read
        case write
        case mixed(percentWrites: Int)

        var writes: Bool { self != .read }
        var reads: Bool { self != .write }
    }

    var room = Room.settings
    var connections = 1
    var depth = 1
    var seconds = 3.0
    /// Stops after so many requests instead of after `seconds`; 0 is no limit.
    var requests = 0
    var keys = 100_000
    var valueSize = 100
    var mix = Mix.read
    /// Requests a second of an open loop, all connections together; 0 is a closed loop.
    var rate = 0.0
    /// Generators of one connection each, every one a process; 0 is this process alone.
    var processes = 0
    var preload = false
    var json = false

    init(_ arguments: inout Arguments) throws {
        if let text = arguments.text("--room") {
            guard let room = Room(rawValue: text) else {
                throw BenchError.usage("--room wants settings, documents, secrets or models, not `\(text)`")
            }
            self.room = room
        }
        connections = try arguments.integer("--connections", default: connections, in: 1...10_000)
        depth = try arguments.integer("--depth", default: depth, in: 1...10_000)
        seconds = try arguments.decimal("--seconds", default: seconds, in: 0.01...86_400)
        requests = try arguments.integer("--requests", default: requests, in: 0...1_000_000_000)
        keys = try arguments.integer("--keys", default: keys, in: 1...99_999_999)
        // 12 counter digits and 4 of the generator's number must fit.
        valueSize = try arguments.integer("--value-size", default: valueSize, in: 16...1_000_000)
        if let text = arguments.text("--mix") { mix = try LoadOptions.mix(text) }
        rate = try arguments.decimal("--rate", default: rate, in: 0...100_000_000)
        processes = try arguments.integer("--processes", default: processes, in: 0...1000)
        preload = arguments.flag("--preload")
        json = arguments.flag("--json")
        if processes > 0 && connections > 1 {
            throw BenchError.usage("--processes has one connection a process: leave --connections out")
        }
    }

    private static func mix(_ text: String) throws -> Mix {
        switch text {
        case "read": return .read
        case "write": return .write
        default:
            let parts = text.split(separator: ":")
            guard parts.count == 2, parts[0] == "mixed", let percent = Int(parts[1]), (1...99).contains(percent) else {
                throw BenchError.usage("--mix wants read, write or mixed:PERCENT_WRITES, not `\(text)`")
            }
            return .mixed(percentWrites: percent)
        }
    }

    /// The options that make generator number `index` of `processes`: its share of the rate and of the requests.
    func words(forProcess index: Int) -> [String] {
        var words = ["--room", room.rawValue, "--depth", "\(depth)", "--seconds", "\(seconds)", "--keys", "\(keys)"]
        words += ["--value-size", "\(valueSize)", "--rate", "\(rate / Double(processes))"]
        if requests > 0 {
            let share = requests / processes + (index < requests % processes ? 1 : 0)
            words += ["--requests", "\(max(1, share))"]
        }
        switch mix {
        case .read: words += ["--mix", "read"]
        case .write: words += ["--mix", "write"]
        case .mixed(let percent): words += ["--mix", "mixed:\(percent)"]
        }
        return words
    }

    /// The load in words, for a report's heading.
    var summary: String {
        let load: String
        switch mix {
        case .read: load = "read"
        case .write: load = "write"
        case .mixed(let percent): load = "mixed, \(percent) % writes"
        }
        let clients = processes > 0 ? "\(processes) processes" : "\(connections) connections"
        let pace = rate > 0 ? ", open loop at \(Format.fixed(rate, 0))/s" : ""
        return "\(room.rawValue) \(load), \(clients) × \(depth)\(pace), \(keys) keys, \(valueSize) B values"
    }
}
