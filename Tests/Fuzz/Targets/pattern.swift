import KuraBytes

@testable import JSONSchema

/// Patterns: a regular expression of ECMA 262, then (behind the byte 0x1E) what it is held against.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ data: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    withInput(data, count) { input in
        let cut = input.firstIndex(of: 0x1E) ?? input.count
        let source = Bytes(rebasing: input[..<cut])
        let subject = cut < input.count ? Bytes(rebasing: input[(cut + 1)...]) : source
        // Both come out of JSON strings that have been checked.
        guard String(validating: source, as: UTF8.self) != nil, String(validating: subject, as: UTF8.self) != nil,
            source.count <= SchemaLimits().patternBytes
        else { return }
        withExactBytes(source) { source in withExactBytes(subject) { checkPattern(source, $0) } }
    }
    return 0
}

private func checkPattern(_ source: Bytes, _ subject: Bytes) {
    do throws(PatternError) {
        let syntax = try PatternSyntax.translate(source)
        check(syntax.text.count == syntax.origins.count, "each byte comes from somewhere")
        check(syntax.origins.allSatisfy { $0 >= 0 && $0 <= source.count }, "and that is in the pattern")
        check(String(validating: syntax.text, as: UTF8.self) != nil, "PCRE2 is given UTF-8")
    } catch {
        check(error.offset >= 0 && error.offset <= source.count, "the fault lies in the pattern")
    }
    guard let pattern = compiled(source) else { return }
    let limits = SchemaLimits()
    let matcher = PatternMatcher(limits: limits)
    matcher.steps = limits.patternSteps
    let outcome = pattern.match(subject, with: matcher)
    check(matcher.steps >= -subject.count - 64, "steps are kept to")
    matcher.steps = limits.patternSteps
    check(pattern.match(subject, with: matcher) == outcome, "the same again")
    checkAnchors(source, subject, outcome)
}

private func compiled(_ source: Bytes) -> Pattern? { try? Pattern(source) }

/// A pattern that is not anchored matches where it does with anything in front; an alternative that never matches adds
/// nothing.
private func checkAnchors(_ source: Bytes, _ subject: Bytes, _ outcome: Pattern.Outcome) {
    guard outcome != .tooComplex else { return }
    for (head, tail) in [("(?:", ")"), ("[]|(?:", ")"), ("(?=[^]*(?:", "))")] {
        // Numbers of groups do not change, those of bytes do.
        let text = Array(head.utf8) + source + Array(tail.utf8)
        guard let other = withExactBytes(text, compiled) else { continue }
        let matcher = PatternMatcher(limits: SchemaLimits())
        matcher.steps = 1_000_000
        let result = other.match(subject, with: matcher)
        check(result == outcome || result == .tooComplex, "\(head)…\(tail)")
    }
}
