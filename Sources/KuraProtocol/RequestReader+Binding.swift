public import KuraBytes

/// Binding: the parameters that a request gave, against those that its method has.
extension RequestReader {
    func bind() throws(RPCError) {
        let entry = table.entries[methodIndex]
        for index in 0..<state.pointee.memberCount {
            let member = members[index]
            var position = index
            if member.hasName {
                // Most clients keep to the documented order.
                let isInOrder =
                    index < entry.parameterCount && entry.parameters[index].name.equals(bytes(member.name))
                if !isInOrder { position = find(member.name, in: entry) }
                guard position >= 0 else {
                    let shown = member.name.count <= 64 ? bytes(member.name) : nil
                    throw RPCError(.invalidParams, hint: "unknown parameter", parameter: shown)
                }
            } else if index >= entry.parameterCount {
                throw RPCError(.invalidParams, hint: "too many parameters", limit: entry.parameterCount)
            }
            try check(member.value, against: entry.parameters[position], into: position)
        }
        let missing = entry.required & ~state.pointee.present
        guard missing == 0 else {
            let name = entry.parameters[missing.trailingZeroBitCount].name
            throw RPCError(.invalidParams, hint: "missing parameter", parameter: name)
        }
    }

    private func find(_ name: JSONString, in entry: MethodTable.Entry) -> Int {
        let found = find(bytes(name), in: entry)
        guard found < 0, name.hasEscapes, let resolved = escaped(bytes(name)) else { return found }
        return find(resolved, in: entry)
    }

    private func find(_ name: Bytes, in entry: MethodTable.Entry) -> Int {
        for position in 0..<entry.parameterCount {
            let candidate = entry.parameters[position].name
            if candidate.equals(name) { return position }
        }
        return -1
    }

    private func check(_ value: JSONValue, against parameter: MethodTable.Parameter, into position: Int)
        throws(RPCError)
    {
        var slot = Slot(value: value)
        var fits: Bool
        var limit: Int?
        switch parameter.shape {
        case .json:
            fits = true
        case .name, .text, .word:
            fits = value.kind == .string
            if parameter.shape != .word { limit = Int(parameter.upper) }
            if fits {
                slot.string = JSONString(start: value.start + 1, end: value.end - 1)
                let contents = resolve(&slot, position)
                fits = contents.count >= parameter.lower && contents.count <= parameter.upper
                if fits, parameter.shape == .name { fits = !Self.hasControls(contents) }
                if parameter.shape == .word { fits = parameter.words!.contains { $0.equals(contents) } }
            }
        case .integer:
            fits = false
            if value.kind == .number, let number = Self.integer(bytes(value)) {
                slot.integer = number
                fits = number >= parameter.lower && number <= parameter.upper
            }
        case .boolean:
            fits = value.kind == .true || value.kind == .false
            slot.integer = value.kind == .true ? 1 : 0
        case .map, .object:
            fits = value.kind == .object
        case .list:
            // Its length is checked by whoever walks over it.
            fits = value.kind == .array
            limit = Int(parameter.upper)
        }
        guard fits else {
            throw RPCError(.invalidParams, hint: parameter.hint, parameter: parameter.name, limit: limit)
        }
        slots[position] = slot
        state.pointee.present |= 1 << UInt32(truncatingIfNeeded: position)
    }

    /// The string's bytes with escapes resolved; where there are any, they go into the slot's own scratch.
    private func resolve(_ slot: inout Slot, _ position: Int) -> Bytes {
        let raw = bytes(slot.string)
        guard raw.contains(0x5C) else { return raw }
        slot.string.hasEscapes = true
        return scratch[position].unescape(raw)
    }

    /// Whether text has control characters: U+0000…U+001F, U+007F…U+009F.
    static func hasControls(_ contents: Bytes) -> Bool { contents.hasControlCharacters }

    /// The whole number that a JSON number's text stands for; nil when it has a fraction or does not fit.
    public static func integer(_ number: Bytes) -> Int64? {
        JSONNumber.integer(number)
    }

    // MARK: Answers for handlers

    /// The id as it came; empty when it is unknown or absent.
    public var replyID: Bytes { bytes(state.pointee.id) }

    /// The `requestKey` that a write came with; nil when there is none.
    public var requestKey: Bytes? {
        let position = table.entries[methodIndex].requestKeyPosition
        return position >= 0 && has(position) ? string(position) : nil
    }

    /// The name of `requestKey`, for errors.
    public var requestKeyName: Bytes { name(table.entries[methodIndex].requestKeyPosition) }

    /// Calls `body` with name and text, as it stands in the line, of each parameter that says what a write is to do: all that are there
    /// but `requestKey`, and `timeoutMs`, which may be another one when the write is sent again.
    public func forEachTerm(_ body: (_ name: Bytes, _ text: Bytes) -> Void) {
        let entry = table.entries[methodIndex]
        for position in 0..<entry.parameterCount where position != entry.requestKeyPosition && has(position) {
            let name = name(position)
            if !name.equals("timeoutMs") { body(name, raw(position)) }
        }
    }

    /// Whether the method is about secrets: a record of what it was asked must not tell even their names.
    public var isAboutSecrets: Bool { table.entries[methodIndex].isAboutSecrets }

    /// Whether the method may be answered ahead of what came before it.
    public var isOutOfBand: Bool { table.entries[methodIndex].isOutOfBand }

    /// Whether the method changes nothing.
    public var isRead: Bool { table.entries[methodIndex].isRead }

    /// Whether its method takes or returns a secret: the line, or the reply, is to be zeroed where it was.
    public var hasSecrets: Bool { table.entries[methodIndex].hasSecrets }

    /// Whether one request may take much longer than most, whatever its bytes.
    public var isExtensive: Bool { table.entries[methodIndex].isExtensive }

    /// The method's name.
    public var methodName: Bytes { table.entries[methodIndex].name }

    public func has(_ parameter: Int) -> Bool {
        state.pointee.present & 1 << UInt32(truncatingIfNeeded: parameter) != 0
    }

    /// A string parameter's bytes, escapes resolved; empty when it is absent. Good until the next request is read.
    public func string(_ parameter: Int) -> Bytes {
        guard has(parameter) else { return Bytes() }
        let slot = slots[parameter]
        return slot.string.hasEscapes ? scratch[parameter].bytes : bytes(slot.string)
    }

    public func integer(_ parameter: Int) -> Int64? {
        has(parameter) ? slots[parameter].integer : nil
    }

    /// Has an integer parameter that is there be read as another number; its text stays.
    /// - Returns: what it was.
    public func replace(_ parameter: Int, with number: Int64) -> Int64 {
        defer { slots[parameter].integer = number }
        return slots[parameter].integer
    }

    public func boolean(_ parameter: Int) -> Bool {
        has(parameter) && slots[parameter].integer != 0
    }

    /// A JSON parameter's text, without white space between its tokens. Good until the next request is read.
    public func json(_ parameter: Int) -> Bytes {
        guard has(parameter) else { return Bytes() }
        let slot = slots[parameter]
        return slot.value.hasWhitespace ? scratch[parameter].compact(bytes(slot.value)) : bytes(slot.value)
    }

    /// A JSON parameter's text as it stands in the line. Good until the next request is read.
    public func raw(_ parameter: Int) -> Bytes { has(parameter) ? bytes(slots[parameter].value) : Bytes() }

    /// Overwrites with zeros what parameters were resolved into, when one of them was a secret.
    public func wipe() {
        for scratch in scratch { scratch.wipe() }
        nameScratch.wipe()
    }

    /// A parameter's name as the table has it, for errors.
    public func name(_ parameter: Int) -> Bytes {
        table.entries[methodIndex].parameters[parameter].name
    }

    /// Where the method's parameter of this name stands; nil when it has none. For errors.
    public func position(of name: StaticString) -> Int? {
        let found = find(Bytes(name), in: table.entries[methodIndex])
        return found >= 0 ? found : nil
    }

    /// The name of the parameter that holds the value to be stored, for errors; nil when the method has none.
    public var valueName: Bytes? { position(of: "value").map { name($0) } }

    /// Most items that a list parameter may have.
    public func listLimit(_ parameter: Int) -> Int {
        Int(table.entries[methodIndex].parameters[parameter].upper)
    }

    /// Gives back scratch that large values have made grow; for a daemon that falls idle.
    public func trim() {
        for scratch in scratch { scratch.trim() }
    }
}
