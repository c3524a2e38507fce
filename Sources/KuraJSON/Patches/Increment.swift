public import KuraBytes

/// Adding to a number in a document, exactly: 0.1 and 0.2 make 0.3, 1.10 and 0.10 make 1.20.
///
/// The sum is written out in digits, with as many behind the point as the longer of both has. Without its point it is at most 2^53 − 1,
/// so that every reader of JSON keeps it, and it has at most 15 digits behind the point.
public struct Increment: ~Copyable {
    private var editor = DocumentEditor()
    private var path = PathNames()
    private var sum = ByteBuffer()

    public init() {}

    /// Appends the document with `step` added to the number at `path`. What is missing on the way, objects and the number, comes to be;
    /// a missing number counts as 0.
    /// `step`: a JSON number's text.
    /// Returns the sum's text; good until the next call.
    public mutating func apply(
        _ step: Bytes, at place: FieldPath, in document: StoredValue, into output: inout ByteBuffer,
        _ limits: PatchLimits
    ) throws(PatchFault) -> Bytes {
        path.read(place)
        editor.begin(document.text)
        defer { editor.end() }
        sum.removeAll()
        switch editor.locate(path) {
        case .value(let value, _):
            let old = StoredValue(editor.text.extracting(value))
            guard old.kind == .number else { throw PatchFault(.noNumber, pointer: path.pointer()) }
            try add(step, to: old.text)
            let sum = sum.bytes
            editor.replace(value) { $0.append(sum) }
        case .end(let container):
            // Only what is there is added to in an array.
            guard editor.text[container.lowerBound] == UInt8(ascii: "{") else {
                throw PatchFault(.badPosition, pointer: path.pointer())
            }
            try create(step, in: container, level: path.count - 1)
        case .nothing(let depth):
            guard case .value(let container, _) = editor.locate(path, depth: depth),
                editor.text[container.lowerBound] == UInt8(ascii: "{")
            else { throw PatchFault(.badPosition, pointer: path.pointer(depth)) }
            try create(step, in: container, level: depth)
        case .scalar(let depth): throw PatchFault(.noContainer, pointer: path.pointer(depth))
        case .badPosition(let depth): throw PatchFault(.badPosition, pointer: path.pointer(depth))
        }
        guard editor.text.count <= limits.resultBytes else { throw PatchFault(.tooLarge, pointer: path.pointer()) }
        output.append(editor.text)
        return sum.bytes
    }

    /// Adds a member at `level` with everything in it that the rest of the path names.
    private mutating func create(_ step: Bytes, in container: Range<Int>, level: Int) throws(PatchFault) {
        try add(step, to: Bytes("0"))
        let (first, sum) = (path.name(level), sum.bytes)
        var inner = ByteBuffer()
        for level in level + 1..<path.count {
            inner.append(UInt8(ascii: "{"))
            inner.append(quotedName: path.name(level))
            inner.append(UInt8(ascii: ":"))
        }
        inner.append(sum)
        for _ in level + 1..<path.count { inner.append(UInt8(ascii: "}")) }
        let text = inner.bytes
        editor.append(to: container, name: first) { $0.append(text) }
    }

    private mutating func add(_ step: Bytes, to number: Bytes) throws(PatchFault) {
        guard FixedPoint.appendSum(number, step, to: &sum) else {
            throw PatchFault(.outOfRange, pointer: path.pointer())
        }
    }
}

/// A decimal number as a whole number of 10^-`scale`.
private struct FixedPoint {
    private var coefficient: Int64
    /// Digits behind the point.
    private var scale: Int

    private static let largestScale = 15
    private static let largestCoefficient: Int64 = 9_007_199_254_740_991

    /// Nil for what has more digits than can be kept.
    private init?(_ number: Bytes) {
        let decimal = Decimal(number)
        scale = min(Self.writtenScale(number), Self.largestScale)
        coefficient = 0
        guard !decimal.isZero else { return }
        scale = max(scale, -decimal.lastPower)
        guard scale <= Self.largestScale, let digits = decimal.significand,
            let magnitude = Self.scaled(Int64(digits), by: decimal.lastPower + scale)
        else { return nil }
        coefficient = decimal.isNegative ? -magnitude : magnitude
    }

    /// Digits behind the point as they are written, zeros at the end too, an exponent taken into account.
    private static func writtenScale(_ number: Bytes) -> Int {
        var digits = 0
        var isFraction = false
        for byte in number {
            if byte | 0x20 == UInt8(ascii: "e") { return 0 }
            if isFraction { digits += 1 }
            if byte == UInt8(ascii: ".") { isFraction = true }
        }
        return digits
    }

    private static func scaled(_ digits: Int64, by power: Int) -> Int64? {
        guard power <= 18 else { return nil }
        var result = digits
        for _ in 0..<max(0, power) {
            let (product, overflow) = result.multipliedReportingOverflow(by: 10)
            if overflow { return nil }
            result = product
        }
        return result
    }

    /// - Returns: false when the sum is out of range; then nothing is appended.
    static func appendSum(_ left: Bytes, _ right: Bytes, to output: inout ByteBuffer) -> Bool {
        guard let left = FixedPoint(left), let right = FixedPoint(right) else { return false }
        let scale = max(left.scale, right.scale)
        guard let first = scaled(left.coefficient, by: scale - left.scale),
            let second = scaled(right.coefficient, by: scale - right.scale)
        else { return false }
        let (sum, overflow) = first.addingReportingOverflow(second)
        guard !overflow, sum.magnitude <= largestCoefficient else { return false }
        append(sum, scale: scale, to: &output)
        return true
    }

    private static func append(_ coefficient: Int64, scale: Int, to output: inout ByteBuffer) {
        if coefficient < 0 { output.append(UInt8(ascii: "-")) }
        var digits = Array(String(coefficient.magnitude).utf8)
        if digits.count <= scale {
            digits = [UInt8](repeating: UInt8(ascii: "0"), count: scale + 1 - digits.count) + digits
        }
        if scale > 0 { digits.insert(UInt8(ascii: "."), at: digits.count - scale) }
        output.append(digits)
    }
}
