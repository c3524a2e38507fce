public import KuraBytes
import KuraProtocol

/// A schema by JSON Schema draft-07, compiled: holds values against it and says where they break it.
///
/// - All validation keywords of the draft are known. `format`, `contentEncoding` and `contentMediaType` are annotations: kept,
///   and checked against nothing. So are `$id` and `$schema`; the latter may only name draft-07.
/// - Stricter than the draft where it would silently check nothing: an unknown keyword, anything but annotations and
///   `definitions` beside `$ref`, and `then` or `else` without `if` are refused; so are an empty `enum`, repeated member names,
///   and patterns outside of ECMA 262.
/// - `$ref` goes to `#` and `#/…` within the document, at any schema in it, recursively too. Others are refused.
/// - Numbers are compared exactly, digit by digit; equality is by what JSON values mean.
/// - Everything is bounded (`SchemaLimits`).
///
/// A schema and what it validates with belong to one thread at a time: compile on any, then hand it over.
/// Source: draft-handrews-json-schema-01, draft-handrews-json-schema-validation-01.
public final class JSONSchema {
    let limits: SchemaLimits
    let program: Program
    /// Where the schema's text stands; it owns the text.
    private let source: ByteBuffer
    private let schemaTape: TapeOwner
    let tape: TapeView
    /// Used again from value to value.
    private let valueTape = TapeOwner()
    private var matcher: PatternMatcher?

    /// Compiles a schema's JSON text, which is copied. The largest take up to about 20 ms: compile those away from the loop.
    /// - Throws: for the first thing that is wrong with it.
    public static func compile(
        _ text: Bytes, limits: SchemaLimits = SchemaLimits()
    ) throws(SchemaError) -> JSONSchema {
        guard text.count <= limits.schemaBytes else {
            throw SchemaError(pointer: "", keyword: "", message: "a schema has at most \(limits.schemaBytes) bytes")
        }
        return try JSONSchema(text, limits: limits)
    }

    private init(_ text: Bytes, limits: SchemaLimits) throws(SchemaError) {
        var source = ByteBuffer(capacity: text.count)
        source.append(text)
        // The block stays where it is when the buffer moves into the schema.
        let owner = TapeOwner()
        let tape = try owner.readSchema(source.bytes, depth: limits.schemaDepth)
        program = try Compiler.compile(tape, limits: limits)
        self.tape = tape
        schemaTape = owner
        self.source = source
        self.limits = limits
    }

    /// Looks for the first violation of a value. Memory is used again from value to value, unless one needs much of it.
    /// - Parameter value: JSON text, as the wire's reader lets it pass: of repeated names each would count by itself.
    /// - Returns: nil when the value is valid.
    public func validate(_ value: Bytes) -> Violation? {
        violations(of: value, upTo: 1).first
    }

    /// Looks for several violations of a value. `anyOf`, `oneOf`, `not` and `contains` count as one each, whatever fails inside
    /// of them.
    /// - Parameters:
    ///   - value: as above.
    ///   - count: at least 1.
    /// - Returns: at most `count`, in the schema's order. A validation that is too complex says so last, besides.
    public func violations(of value: Bytes, upTo count: Int) -> [Violation] {
        let (product, overflow) = value.count.multipliedReportingOverflow(by: limits.stepsPerByte)
        let steps = limits.steps + (overflow ? Int.max / 2 : product)
        let view: TapeView
        do {
            view = try valueTape.tape.read(
                value, grammar: .rfc8259, maximumDepth: JSONReader.defaultMaximumDepth, maximumNodes: steps)
        } catch {
            return [Self.violation(error)]
        }
        defer { valueTape.tape.trim() }
        let matcher = self.matcher ?? PatternMatcher(limits: limits)
        self.matcher = matcher
        matcher.steps = limits.patternSteps
        var evaluation = Evaluation(self, tape: view, matcher: matcher, steps: steps, wanted: max(count, 1))
        do {
            if try evaluation.check(0, 0) { return [] }
        } catch {
            return evaluation.findings.map { violation($0, in: view) } + [violation(error, in: view)]
        }
        return evaluation.findings.map { violation($0, in: view) }
    }

    private static func violation(_ fault: TapeFault) -> Violation {
        switch fault {
        case .json(let fault):
            Violation(
                cause: .notJSON, instancePointer: "", keyword: "", schemaPointer: "",
                message: "is not JSON (at byte \(fault.offset))")
        case .tooManyNodes:
            Violation(
                cause: .tooComplex, instancePointer: "", keyword: "", schemaPointer: "",
                message: "has more values inside than one validation may look at")
        }
    }
}

/// A tape as an object, so that reading it does not touch its owner.
final class TapeOwner {
    var tape = Tape()

    func readSchema(_ text: Bytes, depth: Int) throws(SchemaError) -> TapeView {
        do {
            return try tape.read(
                text, grammar: .wire, maximumDepth: min(depth, JSONReader.defaultMaximumDepth), maximumNodes: .max)
        } catch .json(let fault) {
            let message =
                switch fault.reason {
                case .tooDeep: "is nested too deeply"
                case .duplicateName: "names a member twice"
                default: "is not JSON"
                }
            throw SchemaError(pointer: "", keyword: "", message: "\(message) (at byte \(fault.offset))")
        } catch {
            throw SchemaError(pointer: "", keyword: "", message: "has too many values")
        }
    }
}
