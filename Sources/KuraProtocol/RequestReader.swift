public import KuraBytes

/// Reads request lines: the envelope, the parameters, their types and limits. One pass over the bytes, no tree, and no
/// memory of its own beyond scratch that is used again. One instance serves one thread; what it holds is about the
/// request that was read last.
public final class RequestReader {
    /// What a line turned out to be.
    public enum Line {
        /// A request or notification; its parameters are bound.
        case request
        /// A batch of `count` members, the first of which starts at `offset`; read each by `nextMember`.
        case batch(count: Int, offset: Int)
    }

    public let table: MethodTable
    let names = NameStack()
    let nameScratch = Scratch()
    /// Where the text that was refused is at fault.
    private var faultPath = ByteBuffer()

    // MARK: What the last request said

    struct State {
        var text = Bytes()
        var id = JSONValue()
        var hasID = false
        var methodIndex = 0
        var memberCount = 0
        var paramsKind = JSONKind.null
        var hasParams = false
        /// Which parameters are there: a bit each.
        var present: UInt32 = 0
    }
    let state = Cell(State())
    /// The request has an `id`, so it gets a reply.
    public var hasID: Bool { state.pointee.hasID }
    /// Position of the method in the table.
    public var methodIndex: Int { state.pointee.methodIndex }

    struct Slot {
        var value = JSONValue()
        var string = JSONString()
        var integer: Int64 = 0
    }
    struct Member {
        var name = JSONString()
        var value = JSONValue()
        var hasName = false
    }
    let slots = CellRow(repeating: Slot(), count: MethodTable.maximumParameters)
    let members = CellRow(repeating: Member(), count: MethodTable.maximumParameters + 1)
    let scratch: [Scratch]

    public init(table: MethodTable = .standard) {
        self.table = table
        scratch = (0..<MethodTable.maximumParameters).map { _ in Scratch() }
    }

    // MARK: Reading

    /// Reads one line: a request (then it is bound), or the outline of a batch. The line stays in place until it is
    /// answered.
    /// - Throws: what the reply must say; `replyID` and `hasID` tell whether there is one.
    public func read(_ line: Bytes, batchLimit: Int) throws(RPCError) -> Line {
        if readPlain(line) { return .request }
        reset(line)
        names.truncate(to: 0)
        var reader = JSONReader(line, names: names)
        switch reader.peek() {
        case UInt8(ascii: "{"):
            var envelope = Envelope()
            do throws(JSONFault) {
                envelope = try readEnvelope(&reader)
                try reader.expectEnd()
            } catch { throw refuseText(error) }
            try accept(envelope)
            try bind()
            return .request
        case UInt8(ascii: "["):
            return try outline(&reader, batchLimit: batchLimit)
        default:
            do throws(JSONFault) {
                _ = try reader.value()
                try reader.expectEnd()
            } catch { throw refuseText(error) }
            state.pointee.hasID = true
            throw RPCError(.invalidRequest, hint: "a request is an object, a batch is an array")
        }
    }

    /// Checks a whole batch's text and counts it: a fault anywhere means that nothing is begun. One member too many ends
    /// that: what follows it is not looked at.
    private func outline(_ reader: inout JSONReader, batchLimit: Int) throws(RPCError) -> Line {
        var count = 0
        var first = 0
        do throws(JSONFault) {
            try reader.descend()
            first = reader.index
            if !reader.take(UInt8(ascii: "]")) {
                while true {
                    _ = try reader.value()
                    count += 1
                    if count > batchLimit { break }
                    if reader.take(UInt8(ascii: ",")) { continue }
                    try reader.expect(UInt8(ascii: "]"))
                    break
                }
            }
            if count <= batchLimit {
                reader.ascend()
                try reader.expectEnd()
            }
        } catch { throw refuseText(error) }
        state.pointee.hasID = true
        if count == 0 { throw RPCError(.invalidRequest, hint: "a batch has at least one member") }
        if count > batchLimit { throw RPCError(.batchTooLarge, limit: batchLimit) }
        return .batch(count: count, offset: first)
    }

    /// Reads and binds the batch member at `offset`; afterwards `offset` is the next one's.
    public func nextMember(of line: Bytes, at offset: inout Int) throws(RPCError) {
        reset(line)
        names.truncate(to: 0)
        var reader = JSONReader(line, from: offset, names: names)
        let isObject = reader.peek() == UInt8(ascii: "{")
        var envelope = Envelope()
        do throws(JSONFault) {
            // The line has been checked, so this finds the member's end and cannot fail.
            if isObject { envelope = try readEnvelope(&reader) } else { _ = try reader.value() }
            _ = reader.take(UInt8(ascii: ","))
            offset = reader.index
        } catch { throw refuseText(error) }
        guard isObject else {
            state.pointee.hasID = true
            throw RPCError(.invalidRequest, hint: "a request is an object")
        }
        try accept(envelope)
        try bind()
    }

    /// Binds a call that is given by its method's name and, as JSON text that has been checked, its parameters; nil for
    /// none, and then only the method is looked for.
    public func readCall(method: Bytes, params: Bytes?) throws(RPCError) {
        reset(params ?? method)
        names.truncate(to: 0)
        guard let index = table.index(of: method) else { throw RPCError(.methodNotFound) }
        state.pointee.methodIndex = index
        guard let params else { return }
        var reader = JSONReader(params, names: names)
        do throws(JSONFault) { try readParams(&reader) } catch { throw RPCError(error) }
        guard state.pointee.paramsKind == .object || state.pointee.paramsKind == .array else {
            throw RPCError(.invalidParams, hint: "params is an object or an array")
        }
        try bind()
    }

    /// Reads and binds one operation of a transaction: an object with `method` and `params`.
    /// `operation`: JSON text that has been checked.
    public func readOperation(_ operation: Bytes) throws(RPCError) {
        reset(operation)
        names.truncate(to: 0)
        var reader = JSONReader(operation, names: names)
        guard reader.peek() == UInt8(ascii: "{") else {
            throw RPCError(.invalidParams, hint: "an operation is an object with method and params")
        }
        let envelope: Envelope
        do throws(JSONFault) { envelope = try readEnvelope(&reader) } catch { throw RPCError(error) }
        guard envelope.hasMethod, envelope.method.kind == .string, !envelope.hasID, !envelope.hasVersion,
            !envelope.hasOther
        else { throw RPCError(.invalidParams, hint: "the members of an operation are method and params") }
        try findMethod(envelope)
        guard table.entries[methodIndex].isOperation else {
            throw RPCError(.invalidParams, hint: "an operation is a write of one of the durable stores")
        }
        try bind()
        guard requestKey == nil else {
            throw RPCError(.invalidParams, hint: "requestKey belongs to the whole transaction")
        }
    }

    func reset(_ line: Bytes) {
        state.pointee.text = line
        state.pointee.hasID = false
        state.pointee.id = JSONValue()
        state.pointee.memberCount = 0
        state.pointee.hasParams = false
        state.pointee.paramsKind = .null
        state.pointee.present = 0
    }

    /// Names the place in the line of what would be JSON, but not the wire's: the parameter and where in it, else where in the line.
    func place(_ error: inout RPCError, at offset: Int) {
        let place = JSONPlace(of: offset, in: state.pointee.text)
        faultPath.removeAll()
        place.append(from: place.parameter == nil ? 0 : 2, to: &faultPath, nameScratch)
        // Safety: the line stays until it is answered, and the path until the next one is read.
        unsafe error.parameter = place.parameter
        unsafe error.path = faultPath.bytes
    }

    /// What the envelope said besides id and params.
    private struct Envelope {
        var version = JSONValue()
        var method = JSONValue()
        var hasID = false
        var hasVersion = false
        var hasMethod = false
        var hasOther = false

        /// Whether the member has not come before. Others than the four are compared when the envelope closes.
        @inline(__always)
        func isNew(_ member: EnvelopeMember, hasParams: Bool) -> Bool {
            switch member {
            case .id: !hasID
            case .jsonrpc: !hasVersion
            case .method: !hasMethod
            case .params: !hasParams
            case .other: true
            }
        }
    }

    private func readEnvelope(_ reader: inout JSONReader) throws(JSONFault) -> Envelope {
        var envelope = Envelope()
        let mark = names.count
        try reader.descend()
        if !reader.take(UInt8(ascii: "}")) {
            while true {
                let name = try reader.unnotedName()
                var member = envelopeMember(bytes(name))
                if member == .other, name.hasEscapes { member = envelopeMember(nameScratch.unescape(bytes(name))) }
                guard envelope.isNew(member, hasParams: state.pointee.hasParams) else {
                    throw reader.fault(.duplicateName)
                }
                switch member {
                case .id:
                    state.pointee.id = try reader.value()
                    envelope.hasID = true
                case .jsonrpc:
                    envelope.version = try reader.value()
                    envelope.hasVersion = true
                case .method:
                    envelope.method = try reader.value()
                    envelope.hasMethod = true
                case .params:
                    try readParams(&reader)
                case .other:
                    reader.note(name: name)
                    _ = try reader.value()
                    envelope.hasOther = true
                }
                if reader.take(UInt8(ascii: ",")) { continue }
                try reader.expect(UInt8(ascii: "}"))
                break
            }
        }
        try reader.closeNames(from: mark)
        reader.ascend()
        return envelope
    }

    /// Judges the envelope, once the whole text is known to be JSON, and finds the method.
    private func accept(_ envelope: Envelope) throws(RPCError) {
        state.pointee.hasID = envelope.hasID
        if envelope.hasID, state.pointee.id.kind != .string, state.pointee.id.kind != .number,
            state.pointee.id.kind != .null
        {
            state.pointee.id = JSONValue()
            throw RPCError(.invalidRequest, hint: "id is a string, a number or null")
        }
        // Not a request at all, so not a notification either: it is answered, under id null when there is no id.
        func refuse(_ hint: StaticString) -> RPCError {
            state.pointee.hasID = true
            return RPCError(.invalidRequest, hint: hint)
        }
        guard envelope.hasVersion, envelope.version.kind == .string, isTwoPointZero(envelope.version) else {
            throw refuse("jsonrpc is the string 2.0")
        }
        guard envelope.hasMethod, envelope.method.kind == .string else { throw refuse("method is a string") }
        if envelope.hasOther { throw refuse("members are jsonrpc, id, method and params") }
        if state.pointee.hasParams, state.pointee.paramsKind != .object, state.pointee.paramsKind != .array {
            throw refuse("params is an object or an array")
        }
        try findMethod(envelope)
    }

    private func findMethod(_ envelope: Envelope) throws(RPCError) {
        let name = inside(envelope.method)
        // No method's name has a character that must be escaped, so escapes are looked at only when nothing was found.
        guard let index = table.index(of: name) ?? escaped(name).flatMap({ table.index(of: $0) }) else {
            throw RPCError(.methodNotFound)
        }
        state.pointee.methodIndex = index
    }

    private func isTwoPointZero(_ version: JSONValue) -> Bool {
        let text = inside(version)
        return text.equals("2.0") || escaped(text)?.equals("2.0") ?? false
    }

    /// A string value's inside, escapes as they stand.
    private func inside(_ string: JSONValue) -> Bytes {
        bytes(JSONString(start: string.start + 1, end: string.end - 1))
    }

    /// The same with its escapes resolved; nil when it has none. Good until the next one is resolved.
    func escaped(_ raw: Bytes) -> Bytes? {
        raw.contains(UInt8(ascii: "\\")) ? nameScratch.unescape(raw) : nil
    }

    private enum EnvelopeMember { case jsonrpc, id, method, params, other }

    private func envelopeMember(_ name: Bytes) -> EnvelopeMember {
        switch name.count {
        case 2: return name.equals("id") ? .id : .other
        case 6: return name.equals("method") ? .method : name.equals("params") ? .params : .other
        case 7: return name.equals("jsonrpc") ? .jsonrpc : .other
        default: return .other
        }
    }

    /// Notes where each parameter stands; which method they belong to may come later in the line.
    private func readParams(_ reader: inout JSONReader) throws(JSONFault) {
        state.pointee.hasParams = true
        state.pointee.memberCount = 0
        switch reader.peek() {
        case UInt8(ascii: "{"):
            state.pointee.paramsKind = .object
            let mark = names.count
            try reader.descend()
            if !reader.take(UInt8(ascii: "}")) {
                while true {
                    let name = try reader.name()
                    note(name: name, try reader.value())
                    if reader.take(UInt8(ascii: ",")) { continue }
                    try reader.expect(UInt8(ascii: "}"))
                    break
                }
            }
            try reader.closeNames(from: mark)
            reader.ascend()
        case UInt8(ascii: "["):
            state.pointee.paramsKind = .array
            try reader.descend()
            if !reader.take(UInt8(ascii: "]")) {
                while true {
                    note(name: nil, try reader.value())
                    if reader.take(UInt8(ascii: ",")) { continue }
                    try reader.expect(UInt8(ascii: "]"))
                    break
                }
            }
            reader.ascend()
        default:
            state.pointee.paramsKind = try reader.value().kind
        }
    }

    private func note(name: JSONString?, _ value: JSONValue) {
        // One more than any method has is kept, so that the binder sees that there are too many.
        guard state.pointee.memberCount <= MethodTable.maximumParameters else { return }
        members[state.pointee.memberCount] = Member(name: name ?? JSONString(), value: value, hasName: name != nil)
        state.pointee.memberCount += 1
    }

    func bytes(_ value: JSONValue) -> Bytes {
        state.pointee.text.extracting(Int(value.start)..<Int(value.end))
    }

    func bytes(_ string: JSONString) -> Bytes {
        state.pointee.text.extracting(Int(string.start)..<Int(string.end))
    }
}
