import CPCRE2
import Glibc
import KuraBytes

/// Why a text is no pattern. `offset` counts bytes of the pattern, JSON's escapes resolved.
struct PatternError: Error, Equatable {
    var message: String
    var offset: Int
}

/// A regular expression of ECMA 262, as JSON Schema's `pattern` means it: not anchored, case matters, by code points.
///
/// PCRE2 runs it, after `PatternSyntax` has checked and rewritten it. The interpreter and not the just-in-time compiler: it
/// needs no writable code, and its work can be counted.
///
/// Safety: `code` is PCRE2's own, made once and freed with its owner; each call gets an address and a count of the
/// same bytes, which PCRE2 reads before it returns.
@safe
final class Pattern {
    private let code: OpaquePointer

    /// What is not ECMA 262's default.
    struct Options {
        var ignoresCase = false
        /// `^` and `$` are the beginning and the end of lines.
        var isMultiline = false
        /// `.` is any character, line ends too.
        var dotIsAny = false
    }

    /// - Parameters:
    ///   - text: UTF-8, well formed.
    ///   - options: what is different.
    /// - Throws: for what is not ECMA 262, and for what is too large for PCRE2 or beyond it, as a look behind of varying length.
    init(_ text: Bytes, _ options: Options = Options()) throws(PatternError) {
        let syntax = try PatternSyntax.translate(text, dotIsAny: options.dotIsAny)
        guard let context = unsafe pcre2_compile_context_create_8(nil) else { fatalError("out of memory") }
        defer { unsafe pcre2_compile_context_free_8(context) }
        unsafe pcre2_set_parens_nest_limit_8(context, 64)
        // `$` is the very end, a reference to a group that took no part matches nothing, `[]` is a class without members.
        // A callout before each item is what counts a match's steps.
        let flags =
            (options.ignoresCase ? PCRE2_CASELESS : 0) | (options.isMultiline ? PCRE2_MULTILINE : 0)
            | PCRE2_UTF | PCRE2_DOLLAR_ENDONLY | PCRE2_MATCH_UNSET_BACKREF | PCRE2_ALLOW_EMPTY_CLASS
            | PCRE2_NEVER_BACKSLASH_C | PCRE2_AUTO_CALLOUT
        var number: Int32 = 0
        var offset = 0
        let compiled = unsafe syntax.text.withUnsafeBufferPointer {
            unsafe pcre2_compile_8($0.baseAddress, $0.count, flags, &number, &offset, context)
        }
        guard let compiled = unsafe compiled else {
            let place = offset < syntax.origins.count ? Int(syntax.origins[offset]) : text.count
            throw PatternError(message: Self.message(number), offset: place)
        }
        unsafe code = unsafe compiled
    }

    deinit {
        unsafe pcre2_code_free_8(code)
    }

    private static func message(_ number: Int32) -> String {
        unsafe withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 256) { buffer in
            let count = unsafe pcre2_get_error_message_8(number, buffer.baseAddress, buffer.count)
            return unsafe count > 0
                ? String(decoding: buffer.prefix(Int(count)), as: UTF8.self) : "PCRE2 error \(number)"
        }
    }

    enum Outcome {
        case matches, differs
        /// The steps or the memory for going back ran out.
        case tooComplex
    }

    /// Whether any part of `subject`, well-formed UTF-8, matches.
    func match(_ subject: Bytes, with matcher: PatternMatcher) -> Outcome {
        unsafe matcher.match(code, subject)
    }
}

/// What a match needs besides its pattern: memory for going back, and the count of steps that are left.
///
/// PCRE2's own match limit starts over at each place of the subject and does not see how far `a*` runs, so that a pattern like
/// `a*b` would cost the square of the subject's length. Steps are counted in callouts instead: one each, and one more for each
/// eight bytes between two of them. Used by one thread.
///
/// Safety: the three blocks are made once and freed with their owner; the meter lives as long as the context whose
/// callout writes to it; one thread matches at a time.
@safe
final class PatternMatcher {
    private struct Meter {
        var steps: Int
        var position: Int
    }
    private let meter: UnsafeMutablePointer<Meter>
    private let context: OpaquePointer
    private var data: OpaquePointer?

    init(limits: SchemaLimits) {
        unsafe meter = .allocate(capacity: 1)
        unsafe meter.initialize(to: Meter(steps: 0, position: 0))
        guard let context = unsafe pcre2_match_context_create_8(nil) else { fatalError("out of memory") }
        unsafe self.context = unsafe context
        unsafe pcre2_set_heap_limit_8(context, limits.patternKibibytes)
        // Between two callouts little is tried, so that these two only stand behind the meter.
        unsafe pcre2_set_match_limit_8(context, UInt32(clamping: limits.patternSteps * 4))
        unsafe pcre2_set_depth_limit_8(context, UInt32(clamping: limits.patternSteps))
        unsafe pcre2_set_callout_8(
            context,
            { block, meter in
                let meter = unsafe meter!.assumingMemoryBound(to: Meter.self)
                let position = unsafe block!.pointee.current_position
                unsafe meter.pointee.steps -= 1 + abs(position - meter.pointee.position) >> 3
                unsafe meter.pointee.position = position
                return unsafe meter.pointee.steps >= 0 ? 0 : PCRE2_ERROR_MATCHLIMIT
            }, unsafe meter)
    }

    deinit {
        unsafe pcre2_match_data_free_8(data)
        unsafe pcre2_match_context_free_8(context)
        unsafe meter.deallocate()
    }

    /// Steps that are left for matches.
    var steps: Int {
        get { unsafe meter.pointee.steps }
        set { unsafe meter.pointee.steps = newValue }
    }

    fileprivate func match(_ code: OpaquePointer, _ subject: Bytes) -> Pattern.Outcome {
        // What a match costs before its first callout.
        unsafe meter.pointee.steps -= 10 + subject.count >> 6
        guard unsafe meter.pointee.steps >= 0 else { return .tooComplex }
        unsafe meter.pointee.position = 0
        if unsafe data == nil { unsafe data = unsafe pcre2_match_data_create_8(1, nil) }
        guard let data = unsafe data else { fatalError("out of memory") }
        let text = unsafe subject.baseAddress?.assumingMemoryBound(to: UInt8.self)
        // The reader has checked the subject's UTF-8.
        let result = unsafe pcre2_match_8(code, text, subject.count, 0, PCRE2_NO_UTF_CHECK, data, context)
        // Its memory for going back grows with the subject and is not to stay.
        if subject.count > 512 {
            unsafe pcre2_match_data_free_8(data)
            unsafe self.data = nil
        }
        switch result {
        case 0...: return .matches
        case PCRE2_ERROR_NOMATCH: return .differs
        default: return .tooComplex
        }
    }
}
