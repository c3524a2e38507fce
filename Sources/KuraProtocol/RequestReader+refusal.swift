public import KuraBytes

/// Which request a line was that cannot be read: a refusal without its id would be taken for another request's.
extension RequestReader {
    /// A text that cannot be read is answered under the id that it has, or under null when that cannot be told.
    func refuseText(_ fault: JSONFault) -> RPCError {
        var error = RPCError(fault)
        if fault.reason == .tooDeep { error.limit = JSONReader.defaultMaximumDepth }
        var end = fault.offset
        switch fault.reason {
        case .tooDeep, .duplicateName, .loneSurrogate:
            // It would be JSON, so that what follows the fault can be told as well.
            end = state.pointee.text.count
            place(&error, at: fault.offset)
        default: break
        }
        findID(in: state.pointee.text, upTo: end)
        // Two requests on one line: it is as much the other one's.
        if fault.reason == .trailingBytes, state.pointee.text[fault.offset] == UInt8(ascii: "{") {
            state.pointee.id = JSONValue()
        }
        return error
    }

    /// The beginning of a line that is too long to be kept. `replyID` is its id when that stands there.
    public func readOversize(_ beginning: Bytes) {
        reset(beginning)
        findID(in: beginning, upTo: beginning.count)
    }

    private func findID(in line: Bytes, upTo end: Int) {
        state.pointee.hasID = true
        state.pointee.id = JSONValue()
        var scan = EnvelopeScan(line, end: min(end, line.count))
        guard let start = scan.findID() else { return }
        var reader = JSONReader(line, from: start, names: names)
        guard let value = try? reader.value(), value.kind == .string || value.kind == .number,
            Int(value.end) < min(end, line.count)
        else { return }
        state.pointee.id = value
    }
}

/// Steps through the outermost members of a text that may be no JSON, by its quotes and brackets alone.
private struct EnvelopeScan {
    private let text: Bytes
    private let end: Int
    private var index = 0

    init(_ text: Bytes, end: Int) {
        (self.text, self.end) = (text, end)
    }

    /// Where the value of the only `id` begins; nil when there is none, or another one.
    mutating func findID() -> Int? {
        skipBlanks()
        guard next == UInt8(ascii: "{") else { return nil }
        var depth = 0
        var isName = false
        var found: Int?
        while let byte = next {
            switch byte {
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
                isName = depth == 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                depth -= 1
                if depth == 0 { return found }
            case UInt8(ascii: ","): isName = depth == 1
            case UInt8(ascii: "\""):
                guard let string = takeString() else { return found }
                // Escaped it may be a second one.
                if isName, string.contains(UInt8(ascii: "\\")) { return nil }
                guard isName, string.elementsEqual("id".utf8) else { continue }
                skipBlanks()
                guard next == UInt8(ascii: ":") else { return nil }
                index += 1
                skipBlanks()
                guard found == nil else { return nil }
                found = index
                isName = false
                continue
            default: break
            }
            index += 1
        }
        return found
    }

    private var next: UInt8? { index < end ? text[index] : nil }

    private mutating func skipBlanks() {
        while let byte = next, byte == 0x20 || (0x09...0x0D).contains(byte) { index += 1 }
    }

    /// The bytes between two quotes; nil when the second quote is missing.
    private mutating func takeString() -> Bytes? {
        let start = index + 1
        index = start
        while let byte = next {
            if byte == UInt8(ascii: "\"") {
                defer { index += 1 }
                return Bytes(rebasing: text[start..<index])
            }
            index += byte == UInt8(ascii: "\\") ? 2 : 1
        }
        return nil
    }
}
