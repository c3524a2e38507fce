/// A model made up a number of times, each of its fields with values of its own.
///
/// **Values.** In round `r` the field of number `k` is a number or a text that no other field has. What can only be one of two (a
/// `Bool`, an enum with its cases listed) spells `k` in binary over the first half of the rounds, and its complement over the
/// second: the sequences of different fields differ, and neither a constant, nor the opposite of a field, nor two fields joined by
/// *and*, *or* or *exclusive or* has one of them.
///
/// **What cannot be made up** (a type whose `init(from:)` refuses everything that is tried) is taken from the example. Without one it is left out where it
/// is optional, and cannot be asked for; else no key path of the model can be resolved.
final class FieldProbe {
    struct Fault: Error {
        let reason: String
        let advice: String
        /// What is read is none of the document's fields.
        var isNoField = false
    }

    /// Bits of a field's number: 255 fields at most are told apart by two values. The topmost is always 0.
    static let bits = 9
    static let rounds = 2 * bits

    private var roots: [Any] = []
    /// Each round's values by path in the daemon's notation.
    private var values: [[String: Any]] = []
    private var fault: Fault?
    /// Why optional fields were left out.
    private var omission: Fault?
    /// Where key paths have led before.
    private var known: [Place: Result<String, Fault>] = [:]
    private(set) var idIsText = false
    /// The field that is the model's id, when one is.
    private(set) var idPath: String?

    private struct Place: Hashable {
        let member: AnyKeyPath
        let prefix: String
    }

    init<Model: Codable>(_ type: Model.Type, example: Model?) {
        let exampleText = example.flatMap { try? FaceCoding.encode($0) }
        let numbers = ProbeNumbers()
        for round in 0..<Self.rounds {
            let recorder = ProbeRecorder(round: round, numbers: numbers, example: exampleText)
            do {
                let decoder = ProbeDecoder(recorder: recorder, codingPath: [], place: "")
                let root = try recorder.make(type, from: decoder)
                roots.append(root)
                values.append(recorder.values)
            } catch {
                fault = Self.unmade((error as? ProbeRecorder.Fault)?.type ?? "\(type)", in: type, example != nil)
                return
            }
            if let type = recorder.omitted { omission = Self.unmade(type, in: Model.self, example != nil) }
        }
        guard let root = roots.first as? any Identifiable else { return }
        idIsText = Self.id(of: root)?.first == UInt8(ascii: "\"")
        // By where it leads: a key path made in generic code equals none that an application writes.
        idPath = try? path(of: Self.idMember(of: root), under: "").get()
    }

    private static func unmade(_ part: String, in type: Any.Type, _ hasExample: Bool) -> Fault {
        Fault(
            reason: "no \(part) can be made up to find out what fields are called"
                + (hasExample ? ", and the example has none" : ""),
            advice:
                "give a value to take it from, as in documents(\"…\", of: \(type).self, example: \(type)(…)), or make it CaseIterable, or write Field(\"name\", \\.property)"
        )
    }

    private static func idMember<Value: Identifiable>(of _: Value) -> AnyKeyPath { \Value.id }

    private static func id(of value: some Identifiable) -> [UInt8]? {
        (value.id as? any Encodable).flatMap { Self.text(of: $0) }
    }

    /// The one field whose values a key path reads.
    func path(of member: AnyKeyPath, under prefix: String) -> Result<String, Fault> {
        let place = Place(member: member, prefix: prefix)
        if let path = known[place] { return path }
        let path = find(member, under: prefix)
        known[place] = path
        return path
    }

    private func find(_ member: AnyKeyPath, under prefix: String) -> Result<String, Fault> {
        if let fault { return .failure(fault) }
        var candidates: [String]?
        var texts: Set<[UInt8]> = []
        var type = ""
        for round in 0..<Self.rounds {
            guard let start = prefix.isEmpty ? roots[round] : values[round][prefix], let read = start[keyPath: member],
                let encodable = read as? any Encodable, let text = Self.text(of: encodable)
            else {
                return .failure(
                    omission
                        ?? Fault(
                            reason: "its value cannot be read", advice: "write Field(\"name\", \\.property)",
                            isNoField: true))
            }
            texts.insert(text)
            type = "\(Swift.type(of: read))"
            let possible = candidates ?? values[round].keys.filter { prefix.isEmpty || $0.hasPrefix(prefix + ".") }
            candidates = possible.filter { path in
                guard let value = values[round][path] as? any Encodable else { return false }
                return Self.text(of: value) == text
            }
            if candidates == [] { break }
        }
        // What is the same each time (an array that had to be left empty) says little: its type has to be right as well.
        if texts.count == 1 {
            candidates = candidates?.filter { path in
                let own = values[0][path].map { "\(Swift.type(of: $0))" } ?? ""
                return type == own || type == "Optional<\(own)>"
            }
        }
        guard let candidates, let path = candidates.first else {
            // Nothing was read, each time: it may be one of those.
            if let omission, texts == [Array("null".utf8)] { return .failure(omission) }
            return .failure(
                Fault(
                    reason:
                        "it is no field of the document (a computed property, or one that is stored as something else)",
                    advice: "write Field(\"name\", \\.property)", isNoField: true))
        }
        guard candidates.count == 1 else {
            return .failure(
                Fault(
                    reason: "\(candidates.sorted().joined(separator: " and ")) cannot be told apart",
                    advice: "write Field(\"name\", \\.property), or let an example have other values in them"))
        }
        return .success(path)
    }

    private static func text(of value: any Encodable) -> [UInt8]? { try? FaceCoding.encode(value) }

    /// Whether values of a type are stored as objects. False as well where none can be made up.
    static func isObject(_ type: Any.Type) -> Bool {
        func text<Value: Codable>(_ type: Value.Type) -> [UInt8]? {
            let recorder = ProbeRecorder(round: 0, numbers: ProbeNumbers(), example: nil)
            let decoder = ProbeDecoder(recorder: recorder, codingPath: [], place: "")
            return (try? recorder.make(type, from: decoder)).flatMap { Self.text(of: $0) }
        }
        guard let type = type as? any Codable.Type else { return false }
        return text(type)?.first == UInt8(ascii: "{")
    }
}

/// Which field has which number, the same in all rounds.
final class ProbeNumbers {
    private var known: [String: Int] = [:]

    func number(of place: String) -> Int {
        if let number = known[place] { return number }
        let number = known.count + 1
        known[place] = number
        return number
    }
}

/// One round: what was made for which field.
final class ProbeRecorder {
    /// A type of which nothing was accepted.
    struct Fault: Error {
        let type: String
    }

    /// What is tried for a type that refuses its first text or number.
    enum Flavour: CaseIterable {
        /// Texts like a UUID, numbers that nobody else has.
        case unique
        /// Digits; 0 and 1.
        case small
        /// A moment of ISO 8601.
        case moment
        /// Arrays and dictionaries of nothing.
        case empty
    }

    /// Nested as deep as this nothing more is made up: a type that contains itself.
    static let deepest = 12

    let round: Int
    private let numbers: ProbeNumbers
    private let example: [UInt8]?
    private(set) var values: [String: Any] = [:]
    /// A type of optional fields that were left out.
    private(set) var omitted: String?
    private(set) var flavour = Flavour.unique
    /// Types that are being made.
    private(set) var underWay: [ObjectIdentifier] = []

    init(round: Int, numbers: ProbeNumbers, example: [UInt8]?) {
        self.round = round
        self.numbers = numbers
        self.example = example
    }

    // MARK: Values

    /// Whether the field of this place spells 1 in this round.
    func bit(_ place: String) -> Bool {
        let bit = numbers.number(of: place) >> (round % FieldProbe.bits) & 1 == 1
        return round < FieldProbe.bits ? bit : !bit
    }

    func text(_ place: String) -> String {
        let number = unique(place)
        func padded(_ number: Int, _ width: Int) -> String {
            let digits = String(number)
            return String(repeating: "0", count: max(0, width - digits.count)) + digits
        }
        switch flavour {
        case .unique, .empty: return "\(padded(number, 8))-0000-4000-8000-\(padded(number, 12))"
        case .small: return "\(number)"
        case .moment:
            let second = number % 86_400
            return
                "2001-01-\(padded(number / 86_400 % 28 + 1, 2))T\(padded(second / 3600, 2)):\(padded(second / 60 % 60, 2)):\(padded(second % 60, 2))Z"
        }
    }

    func integer<Number: FixedWidthInteger>(_ place: String) -> Number {
        if flavour == .small { return bit(place) ? 1 : 0 }
        // In eight bits there is room for 64 fields.
        let number = numbers.number(of: place)
        return Number(exactly: unique(place)) ?? Number(64 + (number * (2 * round + 1) + round) % 64)
    }

    func double(_ place: String) -> Double { flavour == .small ? (bit(place) ? 1 : 0) : Double(unique(place)) }

    /// In each round other numbers for all fields, and never one of another round.
    private func unique(_ place: String) -> Int { 1000 + numbers.number(of: place) * FieldProbe.rounds + round }

    // MARK: Making

    /// Makes a value of any type for the field of a decoder's place.
    func make<Value: Decodable>(_ type: Value.Type, from decoder: ProbeDecoder) throws -> Value {
        // In two steps: nothing, cast to an optional, would be its nil.
        if let known = listed(type, decoder.place), let value = known as? Value { return value }
        guard underWay.count < Self.deepest else { throw Fault(type: "\(type)") }
        underWay.append(ObjectIdentifier(type))
        defer { underWay.removeLast() }
        let (before, outer) = (values, flavour)
        defer { flavour = outer }
        for flavour in Flavour.allCases {
            self.flavour = flavour
            do {
                return try Value(from: decoder)
            } catch let fault as Fault {
                // Something within it cannot be made at all.
                values = before
                if let value: Value = exampleValue(at: decoder) { return value }
                self.flavour = .empty
                if let value = try? Value(from: decoder) { return value }
                values = before
                throw fault
            } catch {
                values = before
            }
        }
        if let value: Value = exampleValue(at: decoder) { return value }
        throw Fault(type: "\(type)")
    }

    /// An enum that lists its cases: one of the first two.
    private func listed<Value>(_ type: Value.Type, _ place: String) -> Any? {
        func pick<Listed: CaseIterable>(_ type: Listed.Type) -> Any? {
            let cases = Array(type.allCases)
            return cases.count > 1 && bit(place) ? cases[1] : cases.first
        }
        guard let listed = type as? any CaseIterable.Type else { return nil }
        return pick(listed)
    }

    private func exampleValue<Value: Decodable>(at decoder: ProbeDecoder) -> Value? {
        guard var text = example else { return nil }
        for key in decoder.codingPath {
            guard let part = JSONObject(text)?[key.stringValue] else { return nil }
            text = part
        }
        return try? FaceCoding.decode(Value.self, from: text)
    }

    func leaveOut(_ fault: Fault) { omitted = fault.type }

    func record(_ value: Any, at decoder: ProbeDecoder) {
        if decoder.isField { values[decoder.place] = value }
    }
}
