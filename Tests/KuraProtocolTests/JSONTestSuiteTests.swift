import KuraProtocol
import Testing

/// JSONTestSuite (Nicolas Seriot): texts that must parse (`y_`), must not (`n_`), and those that the RFC leaves open (`i_`).
@Suite(.enabled(if: Suites.has("json-test-suite"), "JSONTestSuite is not here: set KURA_SUITES to run this"))
struct JSONTestSuiteTests {
    private static let folder = "json-test-suite/test_parsing"

    private func texts(_ prefix: String) throws -> [(name: String, text: [UInt8])] {
        try Suites.files(in: Self.folder).filter { $0.hasPrefix(prefix) }.map { file in
            (String(file.dropLast(".json".count)), try #require(Suites.contents(of: "\(Self.folder)/\(file)")))
        }
    }

    @Test func `RFC 8259's grammar accepts all 95 texts that must parse`() throws {
        let texts = try texts("y_")
        #expect(texts.count == 95)
        #expect(texts.filter { fault(in: $0.text, .rfc8259) != nil }.map(\.name) == [])
    }

    @Test func `both grammars refuse all 188 texts that must not parse`() throws {
        let texts = try texts("n_")
        #expect(texts.count == 188)
        for grammar in [JSONGrammar.rfc8259, .wire] {
            #expect(texts.filter { fault(in: $0.text, grammar) == nil }.map(\.name) == [])
        }
    }

    @Test func `each of the 35 open texts is decided as the table says`() throws {
        let texts = try texts("i_")
        #expect(texts.count == 35)
        #expect(Set(texts.map(\.name)) == Set(Self.decisions.keys))
        for (name, text) in texts {
            let decision = try #require(Self.decisions[name])
            #expect(fault(in: text, .rfc8259)?.reason == decision.refused, "\(name): \(decision.why)")
        }
    }

    @Test func `the wire's grammar differs exactly by the texts listed, for the reasons listed`() throws {
        var differences: [String: JSONFault.Reason] = [:]
        for (name, text) in try texts("") {
            let isJSON = fault(in: text, .rfc8259) == nil
            let wire = fault(in: text, .wire)
            #expect(isJSON || wire != nil, "\(name): only the wire accepts it")
            if isJSON, let wire { differences[name] = wire.reason }
        }
        #expect(differences == Self.wireDifferences)
    }

    private struct Decision {
        /// Why it is refused; nil: it is accepted.
        var refused: JSONFault.Reason?
        var why: String

        static func accepted(_ why: String) -> Decision { Decision(refused: nil, why: why) }
        static func refused(_ reason: JSONFault.Reason, _ why: String) -> Decision {
            Decision(refused: reason, why: why)
        }
    }

    private static let number = Decision.accepted("a value is kept as text, so no number is too large, small or long")
    private static let surrogate = Decision.accepted("RFC 8259's grammar lets a lone surrogate escape pass (8.2)")
    private static let encoding = Decision.refused(
        .badUTF8, "RFC 8259, 8.1: between systems a text is UTF-8, well-formed")

    private static let decisions: [String: Decision] = [
        "i_number_double_huge_neg_exp": number,
        "i_number_huge_exp": number,
        "i_number_neg_int_huge_exp": number,
        "i_number_pos_double_huge_exp": number,
        "i_number_real_neg_overflow": number,
        "i_number_real_pos_overflow": number,
        "i_number_real_underflow": number,
        "i_number_too_big_neg_int": number,
        "i_number_too_big_pos_int": number,
        "i_number_very_big_negative_int": number,
        "i_object_key_lone_2nd_surrogate": surrogate,
        "i_string_1st_surrogate_but_2nd_missing": surrogate,
        "i_string_1st_valid_surrogate_2nd_invalid": surrogate,
        "i_string_incomplete_surrogate_and_escape_valid": surrogate,
        "i_string_incomplete_surrogate_pair": surrogate,
        "i_string_incomplete_surrogates_escape_valid": surrogate,
        "i_string_invalid_lonely_surrogate": surrogate,
        "i_string_invalid_surrogate": surrogate,
        "i_string_inverted_surrogates_U+1D11E": surrogate,
        "i_string_lone_second_surrogate": surrogate,
        "i_string_UTF-8_invalid_sequence": encoding,
        "i_string_UTF8_surrogate_U+D800": encoding,
        "i_string_invalid_utf-8": encoding,
        "i_string_iso_latin_1": encoding,
        "i_string_lone_utf8_continuation_byte": encoding,
        "i_string_not_in_unicode_range": encoding,
        "i_string_overlong_sequence_2_bytes": encoding,
        "i_string_overlong_sequence_6_bytes": encoding,
        "i_string_overlong_sequence_6_bytes_null": encoding,
        "i_string_truncated-utf-8": encoding,
        "i_string_UTF-16LE_with_BOM": .refused(.unexpectedByte, "UTF-16 is not UTF-8"),
        "i_string_utf16BE_no_BOM": .refused(.unexpectedByte, "UTF-16 is not UTF-8"),
        "i_string_utf16LE_no_BOM": .refused(.unexpectedByte, "UTF-16 is not UTF-8"),
        "i_structure_500_nested_arrays": .refused(.tooDeep, "nesting is limited to 128 levels"),
        "i_structure_UTF-8_BOM_empty_object": .refused(
            .unexpectedByte, "RFC 8259, 8.1: a byte order mark must not be added; accepting it is a courtesy not given"),
    ]

    /// What RFC 7493 refuses besides: names that come twice (2.3) and surrogates that are no pair (2.1).
    private static let wireDifferences: [String: JSONFault.Reason] = [
        "y_object_duplicated_key": .duplicateName,
        "y_object_duplicated_key_and_value": .duplicateName,
        "i_object_key_lone_2nd_surrogate": .loneSurrogate,
        "i_string_1st_surrogate_but_2nd_missing": .loneSurrogate,
        "i_string_1st_valid_surrogate_2nd_invalid": .loneSurrogate,
        "i_string_incomplete_surrogate_and_escape_valid": .loneSurrogate,
        "i_string_incomplete_surrogate_pair": .loneSurrogate,
        "i_string_incomplete_surrogates_escape_valid": .loneSurrogate,
        "i_string_invalid_lonely_surrogate": .loneSurrogate,
        "i_string_invalid_surrogate": .loneSurrogate,
        "i_string_inverted_surrogates_U+1D11E": .loneSurrogate,
        "i_string_lone_second_surrogate": .loneSurrogate,
    ]
}
