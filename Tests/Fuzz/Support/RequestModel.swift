import KuraBytes
import KuraProtocol

/// What a request's reader must say, worked out from `PlainJSON` and the method table's declarations alone.
enum RequestModel {
    enum Verdict: Equatable {
        /// The method, and for each of its parameters what was given.
        case accepted(method: String, [PlainJSON?])
        case refused(ErrorKind)
        case batch(Int)
    }

    struct Expected {
        var verdict: Verdict
        /// Whether there is a reply, and the id in it: a string's contents, a number's text, or null.
        var hasID = true
        var id = PlainJSON.null
    }

    static func expected(_ value: PlainJSON?, batchLimit: Int) -> Expected {
        switch value {
        case nil: Expected(verdict: .refused(.parseError))
        case .array(let members)? where members.isEmpty: Expected(verdict: .refused(.invalidRequest))
        case .array(let members)? where members.count > batchLimit: Expected(verdict: .refused(.batchTooLarge))
        case .array(let members)?: Expected(verdict: .batch(members.count))
        case .object(let members)?: request(members)
        default: Expected(verdict: .refused(.invalidRequest))
        }
    }

    /// A batch's member: no batch itself.
    static func expectedMember(_ value: PlainJSON) -> Expected {
        if case .object(let members) = value { request(members) } else { Expected(verdict: .refused(.invalidRequest)) }
    }

    private static func request(_ members: [PlainJSON.Member]) -> Expected {
        func member(_ name: String) -> PlainJSON? { members.first { $0.name == Array(name.utf8) }?.value }
        let known = ["jsonrpc", "id", "method", "params"].filter { member($0) != nil }.count
        var result = Expected(verdict: .refused(.invalidRequest))
        switch member("id") {
        case .string?, .number?, .null?: result.id = member("id")!
        case nil: result.hasID = false
        default: return result
        }
        guard member("jsonrpc") == .string(Array("2.0".utf8)), case .string(let name)? = member("method"),
            known == members.count
        else {
            // No request at all is answered even without an id.
            result.hasID = true
            return result
        }
        switch member("params") {
        case nil, .array?, .object?: break
        default:
            result.hasID = true
            return result
        }
        guard let method = Method.all.first(where: { Array($0.name.utf8) == name }) else {
            result.verdict = .refused(.methodNotFound)
            return result
        }
        result.verdict = bound(member("params"), method)
        return result
    }

    static func bound(_ params: PlainJSON?, _ method: Method) -> Verdict {
        var given: [PlainJSON?] = Array(repeating: nil, count: method.parameters.count)
        switch params {
        case .object(let members)?:
            for member in members {
                let position = method.parameters.firstIndex { Array($0.name.utf8) == member.name }
                guard let position else { return .refused(.invalidParams) }
                given[position] = member.value
            }
        case .array(let elements)?:
            guard elements.count <= given.count else { return .refused(.invalidParams) }
            for (position, element) in elements.enumerated() { given[position] = element }
        default: break
        }
        for (field, value) in zip(method.parameters, given) {
            guard value.map({ fits($0, field.type) }) ?? !field.isRequired else { return .refused(.invalidParams) }
        }
        return .accepted(method: method.name, given)
    }

    private static func fits(_ value: PlainJSON, _ type: ValueType) -> Bool {
        switch (type, value) {
        case (.json, _): true
        case (.name(let maxBytes), .string(let contents)):
            (1...maxBytes).contains(contents.count) && contents.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
        case (.text(let maxBytes), .string(let contents)): contents.count <= maxBytes
        case (.word(let words), .string(let contents)): words.contains { Array($0.utf8) == contents }
        // That numbers are read rightly is the reader target's business.
        case (.integer(let range), .number(let digits)):
            digits.withBytes { JSONNumber.integer($0) }.map(range.contains) ?? false
        case (.boolean, .boolean), (.map, .object), (.object, .object), (.list, .array): true
        default: false
        }
    }
}

/// Reads lines with one reader, as a connection does, and holds what it says against the model.
struct RequestJudge {
    let reader = RequestReader()
    let batchLimit = 20

    func judge(_ line: Bytes) {
        let parsed = PlainJSON.parse(Array(line))
        // Members over the limit are not looked at, so a fault behind the last one that is may go unseen.
        let commas = line.count { $0 == UInt8(ascii: ",") }
        let mayBeTooLarge = commas >= batchLimit && line.first { ![0x20, 0x09, 0x0A, 0x0D].contains($0) } == 0x5B
        let value = parsed.flatMap { $0.isWire ? $0.value : nil }
        let expected = RequestModel.expected(value, batchLimit: batchLimit)
        do throws(RPCError) {
            switch try reader.read(line, batchLimit: batchLimit) {
            case .request: judgeAccepted(expected, line)
            case .batch(let count, let offset):
                check(expected.verdict == .batch(count), "the batch's count")
                guard case .array(let members)? = value else { return check(false, "a batch is an array") }
                judgeBatch(line, members, offset)
            }
        } catch {
            var expected = expected
            if mayBeTooLarge, error.kind == .batchTooLarge, expected.verdict == .refused(.parseError) {
                expected.verdict = .refused(.batchTooLarge)
            }
            if error.kind == .parseError { expected.id = glimpsedID(line) }
            judgeRefused(expected, error)
        }
        // Whatever came before leaves nothing behind.
        check(
            (try? reader.read(Bytes(#"{"jsonrpc":"2.0","id":1,"method":"storage.ping"}"#), batchLimit: batchLimit))
                != nil, "the next line is read")
    }

    /// The id that the reader has found in a text that is no JSON: a string or a number that stands there behind `"id":`. Which texts have
    /// one is tested by examples.
    private func glimpsedID(_ line: Bytes) -> PlainJSON {
        let found = Array(reader.replyID)
        guard !found.isEmpty else { return .null }
        let id = PlainJSON.parse(found)?.value ?? .null
        switch id {
        case .string, .number: break
        default: check(false, "an id is a string or a number")
        }
        let text = line.filter { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }
        let wanted = Array("\"id\":".utf8) + found.filter { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }
        let starts = 0...max(0, text.count - wanted.count)
        check(starts.contains { text.dropFirst($0).starts(with: wanted) }, "an id that the line has")
        return id
    }

    private func judgeBatch(_ line: Bytes, _ members: [PlainJSON], _ first: Int) {
        var offset = first
        for member in members {
            let before = offset
            let expected = RequestModel.expectedMember(member)
            do throws(RPCError) {
                try reader.nextMember(of: line, at: &offset)
                judgeAccepted(expected, line)
            } catch { judgeRefused(expected, error) }
            check(offset > before && offset <= line.count, "each member is a step forward")
        }
    }

    private func judgeAccepted(_ expected: RequestModel.Expected, _ line: Bytes) {
        let method = reader.table.methods[reader.methodIndex]
        check(reader.methodName.elementsEqual(method.name.utf8), "the method's name")
        judgeID(expected)
        guard case .accepted(let name, let given) = expected.verdict else {
            return check(false, "accepted by the reader alone: \(method.name)")
        }
        check(name == method.name, "the method")
        for (position, value) in given.enumerated() { judgeParameter(position, value, method.parameters[position]) }
        let key = method.requestKeyPosition.flatMap { given[$0] }
        check((reader.requestKey != nil) == (key != nil), "the request key")
    }

    private func judgeParameter(_ position: Int, _ value: PlainJSON?, _ field: Field) {
        check(reader.has(position) == (value != nil), "\(field.name) is present")
        check(reader.name(position).elementsEqual(field.name.utf8), "its name")
        guard let value else {
            check(reader.string(position).isEmpty && reader.json(position).isEmpty, "what is absent is empty")
            check(reader.integer(position) == nil && !reader.boolean(position), "what is absent is nothing")
            return
        }
        let json = Array(reader.json(position))
        check(PlainJSON.parse(json)?.value == value, "\(field.name)'s text means the same")
        var compact = ByteBuffer()
        json.withBytes { JSONText.compact($0, into: &compact) }
        check(compact.count == json.count, "and has no white space")
        switch (field.type, value) {
        case (.name, .string(let contents)), (.text, .string(let contents)), (.word, .string(let contents)):
            // Asking for the JSON text may use the same scratch only when there is white space, which a string never has.
            check(reader.string(position).elementsEqual(contents), "\(field.name)'s contents")
        case (.integer, .number(let digits)):
            let number = digits.withBytes { JSONNumber.integer($0) }
            check(reader.integer(position) == number, "\(field.name)'s number")
        case (.boolean, .boolean(let isTrue)): check(reader.boolean(position) == isTrue, "\(field.name)")
        default: break
        }
    }

    private func judgeRefused(_ expected: RequestModel.Expected, _ error: RPCError) {
        check(expected.verdict == .refused(error.kind), "refused with \(error.kind), expected \(expected.verdict)")
        judgeID(expected)
        var output = ByteBuffer()
        output.append(error: error, id: reader.replyID)
        guard let reply = PlainJSON.parse(Array(output.bytes)), reply.isWire, case .object(let members) = reply.value
        else { return check(false, "an error reply is an object") }
        check(members.map(\.name) == ["jsonrpc", "id", "error"].map { Array($0.utf8) }, "its members")
        check(members[1].value == expected.id, "it echoes the id")
    }

    private func judgeID(_ expected: RequestModel.Expected) {
        check(reader.hasID == expected.hasID, "whether there is a reply")
        if expected.id == .null {
            return check(reader.replyID.isEmpty || reader.replyID.elementsEqual("null".utf8), "no id")
        }
        check(PlainJSON.parse(Array(reader.replyID))?.value == expected.id, "the id as it came")
    }
}
