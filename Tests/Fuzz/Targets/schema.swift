import KuraBytes
import KuraProtocol

@testable import JSONSchema

/// The schema compiler and validation: a schema, then (behind the byte 0x1E) a value.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ data: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    withInput(data, count) { input in
        let cut = input.firstIndex(of: 0x1E) ?? input.count
        let value = cut < input.count ? Bytes(rebasing: input[(cut + 1)...]) : input
        withExactBytes(Bytes(rebasing: input[..<cut])) { schema in
            withExactBytes(value) { checkSchema(schema, $0) }
        }
    }
    return 0
}

private func compile(_ text: Bytes) -> Result<JSONSchema, SchemaError> {
    do throws(SchemaError) { return .success(try JSONSchema.compile(text)) } catch { return .failure(error) }
}

private func compile(_ text: [UInt8]) -> JSONSchema? { try? withExactBytes(text, compile).get() }

private func checkSchema(_ text: Bytes, _ value: Bytes) {
    let plain = PlainJSON.parse(Array(text))
    let schema: JSONSchema
    switch compile(text) {
    case .failure(let error):
        check(!error.message.isEmpty, "a refusal says why")
        if let plain, plain.isWire {
            check(resolve(error.pointer, plain.value), "the refusal's place \(error.pointer)")
        }
        return
    case .success(let compiled): schema = compiled
    }
    guard let plain, plain.isWire else { return check(false, "what compiles is JSON by the wire's grammar") }
    let found = schema.violations(of: value, upTo: 5)
    check(schema.violations(of: value, upTo: 5) == found, "the same again")
    check((schema.validate(value) == nil) == found.isEmpty, "one violation as well as five")
    check(found.count <= 6, "no more than asked for")
    let plainValue = PlainJSON.parse(Array(value))
    check(plainValue != nil || found.first?.cause == .notJSON, "what is no JSON is not valid")
    guard let plainValue else { return }
    for violation in found {
        check(
            resolve(violation.instancePointer, plainValue.value), "the place in the value \(violation.instancePointer)")
        check(resolve(violation.schemaPointer, plain.value), "the place in the schema \(violation.schemaPointer)")
    }
    if plainValue.isWire { checkAlgebra(Array(text), value, found) }
}

/// What follows from the meaning of `not`, `allOf`, `anyOf` and `oneOf`.
private func checkAlgebra(_ text: [UInt8], _ value: Bytes, _ found: [Violation]) {
    // References to the whole document would mean the wrapper; bounds are met earlier inside of it.
    guard !text.contains(UInt8(ascii: "$")), !text.contains(UInt8(ascii: "\\")) else { return }
    guard found.allSatisfy({ $0.cause == .value }) else { return }
    for (head, tail, isSame) in [
        ("{\"not\":", "}", false), ("{\"allOf\":[", "]}", true), ("{\"anyOf\":[false,", "]}", true),
        ("{\"oneOf\":[", ",false]}", true), ("{\"if\":", ",\"else\":false}", true),
        ("{\"not\":{\"not\":", "}}", true),
    ] {
        guard let wrapped = compile(Array(head.utf8) + text + Array(tail.utf8)) else { continue }
        let outcome = wrapped.validate(value)
        if let outcome, outcome.cause != .value { continue }
        check((outcome == nil) == (found.isEmpty == isSame), "\(head)…\(tail)")
    }
}
