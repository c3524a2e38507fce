/// The options of a subcommand, taken one by one; what is left at the end was not understood.
struct Arguments {
    private static let flags: Set<String> = ["--preload", "--json", "--once"]

    private var values: [String: String] = [:]
    private var given: Set<String> = []
    /// The words after `--`.
    let command: [String]

    init(_ words: [String]) throws {
        let end = words.firstIndex(of: "--") ?? words.count
        command = Array(words.dropFirst(end + 1))
        var index = 0
        while index < end {
            let name = words[index]
            guard name.hasPrefix("--") else { throw BenchError.usage("what is `\(name)`? see --help") }
            if Arguments.flags.contains(name) {
                given.insert(name)
                index += 1
            } else {
                guard index + 1 < end else { throw BenchError.usage("\(name) wants a value") }
                values[name] = words[index + 1]
                index += 2
            }
        }
    }

    mutating func flag(_ name: String) -> Bool {
        given.remove(name) != nil
    }

    mutating func text(_ name: String) -> String? {
        values.removeValue(forKey: name)
    }

    mutating func integer(_ name: String, default fallback: Int, in range: ClosedRange<Int>) throws -> Int {
        guard let text = text(name) else { return fallback }
        guard let number = Int(text), range.contains(number) else {
            let allowed = "\(range.lowerBound)…\(range.upperBound)"
            throw BenchError.usage("\(name) wants a whole number \(allowed), not `\(text)`")
        }
        return number
    }

    mutating func decimal(_ name: String, default fallback: Double, in range: ClosedRange<Double>) throws -> Double {
        guard let text = text(name) else { return fallback }
        guard let number = Double(text), range.contains(number) else {
            throw BenchError.usage("\(name) wants a number \(range.lowerBound)…\(range.upperBound), not `\(text)`")
        }
        return number
    }

    mutating func target(_ name: String) throws -> Target {
        guard let text = text(name) else { throw BenchError.usage("\(name) kura:SOCKET or redis:SOCKET is needed") }
        return try Target(text, option: name)
    }

    /// Refuses whatever no one asked for.
    func finish() throws {
        if let unknown = (Array(values.keys) + Array(given)).sorted().first {
            throw BenchError.usage("\(unknown) is not an option here; see --help")
        }
    }
}
