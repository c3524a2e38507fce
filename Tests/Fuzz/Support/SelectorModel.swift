/// What a selector says of a document, worked out anew at each question, from trees. It takes selectors that have been accepted.
struct SelectorModel {
    let id: PlainJSON
    /// The answer would have taken too long, and means nothing.
    var isBeyond = false

    init(id: PlainJSON) {
        self.id = id
    }

    private struct Subject {
        var path: [[UInt8]]?
        var isElement = false
        var isNegated = false
    }

    mutating func matches(_ selector: PlainJSON, _ document: PlainJSON) -> Bool {
        guard case .object(let members) = selector else { return false }
        return holds(members, document, Subject())
    }

    private mutating func holds(_ members: [PlainJSON.Member], _ value: PlainJSON, _ subject: Subject) -> Bool {
        if members.isEmpty, subject.path != nil { return test("$eq", .object([]), value, subject) }
        var parts: [Bool] = []
        for member in members { parts.append(holds(member, value, subject)) }
        return subject.isNegated && parts.count != 1 ? parts.contains(true) : parts.allSatisfy { $0 }
    }

    private mutating func holds(_ member: PlainJSON.Member, _ value: PlainJSON, _ subject: Subject) -> Bool {
        var inner = subject
        let name = String(decoding: member.name, as: UTF8.self)
        switch (name, member.value) {
        case ("$and", .array(let parts)): return combine(parts, value, subject, isAll: true)
        case ("$or", .array(let parts)): return combine(parts, value, subject, isAll: false)
        case ("$nor", .array(let parts)):
            inner.isNegated.toggle()
            return combine(parts, value, inner, isAll: false)
        case ("$not", .object(let members)):
            inner.isNegated.toggle()
            return holds(members, value, inner)
        case _ where member.name.first == UInt8(ascii: "$"): return test(name, member.value, value, subject)
        default: break
        }
        inner.path = (subject.path ?? []) + Self.components(member.name)
        if case .object(let members) = member.value { return holds(members, value, inner) }
        return test("$eq", member.value, value, inner)
    }

    private mutating func combine(_ parts: [PlainJSON], _ value: PlainJSON, _ subject: Subject, isAll: Bool) -> Bool {
        var found: [Bool] = []
        for part in parts {
            if case .object(let members) = part {
                found.append(holds(members, value, subject))
            } else {
                found.append(test("$eq", part, value, subject))
            }
        }
        return isAll != subject.isNegated ? found.allSatisfy { $0 } : found.contains(true)
    }

    private static func components(_ name: [UInt8]) -> [[UInt8]] {
        var parts: [[UInt8]] = [[]]
        var bytes = name.makeIterator()
        while let byte = bytes.next() {
            switch byte {
            case UInt8(ascii: "."): parts.append([])
            case UInt8(ascii: "\\"): parts[parts.count - 1].append(bytes.next() ?? 0)
            default: parts[parts.count - 1].append(byte)
            }
        }
        return parts
    }

    /// A condition at the subject's place. Where nothing is, only that nothing is there holds.
    private mutating func test(_ name: String, _ argument: PlainJSON, _ value: PlainJSON, _ subject: Subject) -> Bool {
        var place: PlainJSON? = value
        if let path = subject.path {
            let isID = !subject.isElement && path == [Array("_id".utf8)]
            place = isID ? id : path.reduce(value as PlainJSON?) { $0.flatMap { [name = $1] in Self.step($0, name) } }
        }
        guard let place else { return name == "$exists" && (argument == .boolean(true)) == subject.isNegated }
        return holds(name, argument, place) != subject.isNegated
    }

    private static func step(_ value: PlainJSON, _ name: [UInt8]) -> PlainJSON? {
        switch value {
        case .object(let members): return members.first { $0.name == name }?.value
        case .array(let elements):
            let text = String(decoding: name, as: UTF8.self)
            guard name.count <= 9, let index = Int(text), String(index) == text, elements.indices.contains(index) else {
                return nil
            }
            return elements[index]
        default: return nil
        }
    }

    private mutating func holds(_ name: String, _ argument: PlainJSON, _ value: PlainJSON) -> Bool {
        let order = PlainJSON.order(value, argument)
        switch name {
        case "$eq": return order == 0
        case "$ne": return order != 0
        case "$lt": return order < 0
        case "$lte": return order <= 0
        case "$gt": return order > 0
        case "$gte": return order >= 0
        case "$exists": return argument == .boolean(true)
        case "$in": return Self.isAmong(argument, value)
        case "$nin": return !Self.isAmong(argument, value)
        case "$all": return Self.hasAll(argument, value)
        case "$type": return argument == .string(Array(Self.type(of: value).utf8))
        case "$size":
            guard case .array(let elements) = value else { return false }
            return PlainJSON.order(.number(Array(String(elements.count).utf8)), argument) == 0
        case "$mod": return isModulo(argument, value)
        case "$beginsWith":
            guard case .string(let text) = value, case .string(let prefix) = argument else { return false }
            return text.starts(with: prefix)
        case "$elemMatch", "$allMatch":
            guard case .array(let elements) = value, case .object(let members) = argument else { return false }
            var found: [Bool] = []
            for element in elements { found.append(holds(members, element, Subject(isElement: true))) }
            return name == "$elemMatch" ? found.contains(true) : !found.isEmpty && found.allSatisfy { $0 }
        case "$keyMapMatch":
            guard case .object(let names) = value, case .object(let members) = argument else { return false }
            for member in names where holds(members, .string(member.name), Subject(isElement: true)) { return true }
            return false
        default:
            check(false, "no such operator was to be accepted: \(name)")
            return false
        }
    }

    private static func isAmong(_ list: PlainJSON, _ value: PlainJSON) -> Bool {
        guard case .array(let items) = list else { return false }
        let values = if case .array(let elements) = value { elements } else { [value] }
        return values.contains { value in items.contains { PlainJSON.order(value, $0) == 0 } }
    }

    private static func hasAll(_ list: PlainJSON, _ value: PlainJSON) -> Bool {
        guard case .array(let items) = list, case .array(let elements) = value, !items.isEmpty else { return false }
        if items.count == 1, case .array = items[0], PlainJSON.order(items[0], value) == 0 { return true }
        return items.allSatisfy { item in elements.contains { PlainJSON.order($0, item) == 0 } }
    }

    private static func type(of value: PlainJSON) -> String {
        switch value {
        case .null: "null"
        case .boolean: "boolean"
        case .number: "number"
        case .string: "string"
        case .array: "array"
        case .object: "object"
        }
    }

    private mutating func isModulo(_ argument: PlainJSON, _ value: PlainJSON) -> Bool {
        guard case .array(let numbers) = argument, numbers.count == 2, case .number(let divisor) = numbers[0],
            case .number(let wanted) = numbers[1], case .number(let digits) = value
        else { return false }
        let number = PlainDecimal(digits)
        guard number.digits.isEmpty || number.lastPower >= 0 else { return false }
        guard number.lastPower < 2000 else {
            isBeyond = true
            return false
        }
        let zeros = number.digits.isEmpty ? 0 : number.lastPower
        let rest = (number.digits + [UInt8](repeating: 0, count: zeros)).reduce(UInt128(0)) {
            ($0 * 10 + UInt128($1)) % Self.magnitude(divisor)
        }
        guard rest == Self.magnitude(wanted) else { return false }
        return rest == 0 || number.isNegative == PlainDecimal(wanted).isNegative
    }

    private static func magnitude(_ text: [UInt8]) -> UInt128 {
        let number = PlainDecimal(text)
        let zeros = number.digits.isEmpty ? 0 : number.lastPower
        return (number.digits + [UInt8](repeating: 0, count: zeros)).reduce(0) { $0 * 10 + UInt128($1) }
    }
}
