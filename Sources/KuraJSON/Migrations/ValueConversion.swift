import KuraBytes

/// What a value can be made into. Null is no value: it stays.
enum ValueConversion: String, Sendable, CaseIterable {
    case string, integer, number, boolean

    enum Outcome: Equatable {
        /// It is what it should be already.
        case same
        /// What it becomes has been appended.
        case made
        case failed(MigrationFault.Reason)
    }

    /// Digits of a whole number that is written out.
    private static let longestInteger = 40

    /// Appends what the value becomes. A number's digits stay as they are wherever they can.
    func convert(_ value: StoredValue, to output: inout ByteBuffer) -> Outcome {
        if value.kind == .null { return .same }
        switch self {
        case .string: return makeString(value, &output)
        case .integer: return makeNumber(value, isWhole: true, &output)
        case .number: return makeNumber(value, isWhole: false, &output)
        case .boolean: return makeBoolean(value, &output)
        }
    }

    private func makeString(_ value: StoredValue, _ output: inout ByteBuffer) -> Outcome {
        switch value.kind {
        case .string: return .same
        case .array, .object, .null: return .failed(.notText)
        case .number, .true, .false:
            output.append(UInt8(ascii: "\""))
            output.append(value.text)
            output.append(UInt8(ascii: "\""))
            return .made
        }
    }

    private func makeNumber(_ value: StoredValue, isWhole: Bool, _ output: inout ByteBuffer) -> Outcome {
        switch value.kind {
        case .number:
            if !isWhole || Self.isPlain(value.text) { return .same }
            return Self.appendWhole(value.text, to: &output)
        case .true, .false:
            output.append(value.kind == .true ? UInt8(ascii: "1") : UInt8(ascii: "0"))
            return .made
        case .string:
            // The digits of a number are never escaped by who means them.
            guard Self.isNumber(value.quoted) else { return .failed(isWhole ? .notInteger : .notNumber) }
            if isWhole, !Self.isPlain(value.quoted) { return Self.appendWhole(value.quoted, to: &output) }
            output.append(value.quoted)
            return .made
        case .array, .object, .null: return .failed(isWhole ? .notInteger : .notNumber)
        }
    }

    private func makeBoolean(_ value: StoredValue, _ output: inout ByteBuffer) -> Outcome {
        switch value.kind {
        case .true, .false: return .same
        case .string:
            guard value.quoted.equals("true") || value.quoted.equals("false") else { return .failed(.notBoolean) }
            output.append(value.quoted)
            return .made
        case .number:
            let number = Decimal(value.text)
            if number.isZero {
                output.append("false")
            } else if Decimal.order(number, Decimal(Bytes("1"))) == 0 {
                output.append("true")
            } else {
                return .failed(.notBoolean)
            }
            return .made
        case .array, .object, .null: return .failed(.notBoolean)
        }
    }

    /// A whole number that is written as one.
    private static func isPlain(_ number: Bytes) -> Bool {
        for byte in number {
            if byte == UInt8(ascii: ".") || byte | 0x20 == UInt8(ascii: "e") { return false }
        }
        return true
    }

    /// `3.0` and `3e2` as 3 and 300.
    private static func appendWhole(_ text: Bytes, to output: inout ByteBuffer) -> Outcome {
        let number = Decimal(text)
        guard number.isInteger else { return .failed(.notInteger) }
        guard !number.isZero else {
            output.append(UInt8(ascii: "0"))
            return .made
        }
        guard number.firstPower < longestInteger else { return .failed(.tooManyDigits) }
        if number.isNegative { output.append(UInt8(ascii: "-")) }
        var index = number.digits.lowerBound
        while let digit = number.digit(&index) { output.append(digit + UInt8(ascii: "0")) }
        for _ in 0..<number.lastPower { output.append(UInt8(ascii: "0")) }
        return .made
    }

    /// Whether a text is a number as JSON writes one. Source: RFC 8259, 6.
    static func isNumber(_ text: Bytes) -> Bool {
        var index = text.first == UInt8(ascii: "-") ? 1 : 0
        func digits() -> Int {
            let start = index
            while index < text.count, text[index] >= UInt8(ascii: "0"), text[index] <= UInt8(ascii: "9") { index += 1 }
            return index - start
        }
        let start = index
        let whole = digits()
        guard whole == 1 || whole > 1 && text[start] != UInt8(ascii: "0") else { return false }
        if index < text.count, text[index] == UInt8(ascii: ".") {
            index += 1
            guard digits() > 0 else { return false }
        }
        if index < text.count, text[index] | 0x20 == UInt8(ascii: "e") {
            index += 1
            if index < text.count, text[index] == UInt8(ascii: "+") || text[index] == UInt8(ascii: "-") { index += 1 }
            guard digits() > 0 else { return false }
        }
        return index == text.count
    }
}
