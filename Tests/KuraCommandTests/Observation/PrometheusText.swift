/// Reads Prometheus' text format and finds fault with what is not valid. Source: its "Exposition formats", version 0.0.4.
struct PrometheusText {
    struct Sample {
        var name: String
        var labels: [String: String]
        var value: Double
    }

    struct Fault: Error {
        var message: String
    }

    private(set) var types: [String: String] = [:]
    private(set) var samples: [Sample] = []
    private var isEnded: Set<String> = []
    private var current = ""

    init(_ text: String) throws {
        guard text.hasSuffix("\n") else { throw Fault(message: "the last line lacks its end") }
        for line in text.dropLast().split(separator: "\n", omittingEmptySubsequences: false) {
            try take(String(line))
        }
        for (family, type) in types where type == "histogram" { try checkHistogram(family) }
        let keys = samples.map { "\($0.name) \($0.labels.sorted { $0.key < $1.key })" }
        guard Set(keys).count == keys.count else { throw Fault(message: "a sample comes twice") }
    }

    func value(_ name: String, _ labels: [String: String] = [:]) -> Double? {
        samples.first { $0.name == name && $0.labels == labels }?.value
    }

    private mutating func take(_ line: String) throws {
        if line.hasPrefix("# HELP ") {
            let words = line.dropFirst(7).split(separator: " ", maxSplits: 1)
            guard words.count == 2 else { throw Fault(message: "no help: \(line)") }
            isEnded.insert(current)
            current = String(words[0])
            guard !isEnded.contains(current), types[current] == nil else {
                throw Fault(message: "a family comes twice: \(line)")
            }
            return
        }
        if line.hasPrefix("# TYPE ") {
            let words = line.dropFirst(7).split(separator: " ")
            guard words.count == 2, words[0] == current, ["counter", "gauge", "histogram"].contains(String(words[1]))
            else {
                throw Fault(message: "no type of the family: \(line)")
            }
            types[current] = String(words[1])
            return
        }
        let sample = try Self.sample(line)
        guard let type = types[current] else { throw Fault(message: "a sample without a type: \(line)") }
        let suffixes = type == "histogram" ? ["_bucket", "_sum", "_count"] : [""]
        guard suffixes.contains(where: { sample.name == current + $0 }) else {
            throw Fault(message: "a sample of another family: \(line)")
        }
        if type == "counter" {
            guard sample.name.hasSuffix("_total"), sample.value >= 0 else {
                throw Fault(message: "no counter: \(line)")
            }
        }
        samples.append(sample)
    }

    private static func sample(_ line: String) throws -> Sample {
        var rest = line[...]
        func isName(_ character: Character, first: Bool) -> Bool {
            guard character.isASCII else { return false }
            return character.isLetter || character == "_" || character == ":" || (!first && character.isNumber)
        }
        func name() throws -> String {
            var text = ""
            while let next = rest.first, isName(next, first: text.isEmpty) { text.append(rest.removeFirst()) }
            guard !text.isEmpty else { throw Fault(message: "no name: \(line)") }
            return text
        }
        func expect(_ character: Character) throws {
            guard rest.first == character else { throw Fault(message: "no \(character): \(line)") }
            rest.removeFirst()
        }
        let sampleName = try name()
        var labels: [String: String] = [:]
        if rest.first == "{" {
            repeat {
                rest.removeFirst()
                let label = try name()
                try expect("=")
                try expect("\"")
                var value = ""
                while let next = rest.first, next != "\"" {
                    rest.removeFirst()
                    guard next == "\\" else {
                        value.append(next)
                        continue
                    }
                    switch rest.isEmpty ? " " : rest.removeFirst() {
                    case "\\": value.append("\\")
                    case "\"": value.append("\"")
                    case "n": value.append("\n")
                    default: throw Fault(message: "an escape that is none: \(line)")
                    }
                }
                try expect("\"")
                guard labels.updateValue(value, forKey: label) == nil else {
                    throw Fault(message: "a label twice: \(line)")
                }
            } while rest.first == ","
            try expect("}")
        }
        try expect(" ")
        guard let value = Double(rest), value.isFinite else { throw Fault(message: "no number: \(line)") }
        return Sample(name: sampleName, labels: labels, value: value)
    }

    /// Buckets grow with their bounds, end with `+Inf`, and that has the count.
    private func checkHistogram(_ family: String) throws {
        let all = samples.filter { $0.name == family + "_bucket" }
        let series = Set(all.map { sample in sample.labels.filter { $0.key != "le" } })
        for labels in series {
            let buckets = all.filter { sample in sample.labels.filter { $0.key != "le" } == labels }
            let bounds = try buckets.map { bucket in
                guard let text = bucket.labels["le"], let bound = text == "+Inf" ? .infinity : Double(text) else {
                    throw Fault(message: "a bucket without a bound: \(family)")
                }
                return bound
            }
            guard bounds == bounds.sorted(), Set(bounds).count == bounds.count, bounds.last == .infinity else {
                throw Fault(message: "bounds out of order: \(family) \(labels)")
            }
            let counts = buckets.map(\.value)
            guard counts == counts.sorted() else { throw Fault(message: "buckets do not add up: \(family) \(labels)") }
            guard value(family + "_count", labels) == counts.last, value(family + "_sum", labels) != nil else {
                throw Fault(message: "no count, or another: \(family) \(labels)")
            }
        }
        guard samples.count(where: { $0.name == family + "_count" }) == series.count else {
            throw Fault(message: "a count without buckets: \(family)")
        }
    }
}
