import JSONSchema
import Testing

/// json-schema-validation-01, 6.1 to 6.3.
@Suite struct ScalarTests {
    static let types = [
        Case("true", valid: ["1", "null", "{}"]),
        Case("false", invalid: ["1", "null", "{}"]),
        Case("{}", valid: ["1", "null", "{}", "[]", #""x""#]),
        Case(#"{"type":"null"}"#, valid: ["null"], invalid: ["0", "false", #""""#, "[]", "{}"]),
        Case(#"{"type":"boolean"}"#, valid: ["true", "false"], invalid: ["0", "null", #""true""#]),
        Case(#"{"type":"object"}"#, valid: ["{}", #"{"a":1}"#], invalid: ["[]", "null", #""{}""#]),
        Case(#"{"type":"array"}"#, valid: ["[]", "[1]"], invalid: ["{}", "null", #""[]""#]),
        Case(#"{"type":"number"}"#, valid: ["0", "-1.5", "1e400"], invalid: [#""1""#, "true", "null"]),
        Case(#"{"type":"string"}"#, valid: [#""""#, #""1""#], invalid: ["1", "null", "[]"]),
        Case(
            #"{"type":"integer"}"#,
            valid: ["0", "5.0", "-0", "1e3", "1.50e1", "12300e-2", "123456789012345678901234567890", "0.0", "0e-9"],
            invalid: ["5.5", "1e-1", "1.50e0", "12300e-3", #""5""#, "true", "0.1e0"]),
        Case(
            #"{"type":["string","null","integer"]}"#, valid: [#""a""#, "null", "3"],
            invalid: ["true", "3.5", "[]", "{}"]),
    ]
    static let equality = [
        Case(#"{"const":1}"#, valid: ["1", "1.0", "10e-1", "0.1e1"], invalid: ["2", "true", #""1""#, "-1", "[1]"]),
        Case(#"{"const":0}"#, valid: ["0", "-0", "0.0", "0e5"], invalid: ["false", "null", "0.1"]),
        Case(#"{"const":false}"#, valid: ["false"], invalid: ["0", "null", "true", "[false]"]),
        Case(#"{"const":null}"#, valid: ["null"], invalid: ["0", "false", "{}"]),
        Case(#"{"const":"é/"}"#, valid: [#""é/""#, #""\u00e9\/""#, #""\u00E9/""#], invalid: [#""e/""#, #""É/""#]),
        Case(#"{"const":"\ud83d\ude00"}"#, valid: [#""😀""#], invalid: [#""😁""#, #""""#]),
        Case(#"{"const":""}"#, valid: [#""""#], invalid: [#"" ""#, "null"]),
        Case(
            #"{"const":{"a":1,"b":[true,null]}}"#,
            valid: [#"{"b":[true,null],"a":1.0}"#, #"{ "\u0061" : 1, "b":[true , null]}"#],
            invalid: [
                #"{"a":1}"#, #"{"a":1,"b":[null,true]}"#, #"{"a":1,"b":[true,null],"c":1}"#,
                #"{"a":1,"c":[true,null]}"#,
            ]),
        Case(
            #"{"const":[1,[2]]}"#, valid: ["[1,[2]]", "[1.0,[2e0]]"], invalid: ["[1,2]", "[[2],1]", "[1]", "[1,[2],3]"]),
        Case(
            #"{"const":9007199254740993}"#, valid: ["9007199254740993", "9007199254740993.0"],
            invalid: ["9007199254740992", "9007199254740994"]),
        Case(
            #"{"const":1e400}"#, valid: ["1e400", "10E+399", "1" + String(repeating: "0", count: 400)],
            invalid: ["1e401", "1e399", "-1e400"]),
        Case(
            #"{"enum":["a",1,null,{"x":[]},[0]]}"#, valid: [#""a""#, "1.0", "null", #"{"x":[]}"#, "[0]"],
            invalid: [#""b""#, "2", "false", #"{"x":{}}"#, "[]", "[false]", #"{"x":[],"y":1}"#]),
    ]
    static let numbers = [
        Case(
            #"{"minimum":1.1}"#, valid: ["1.1", "2.6", "1.10", "1.1000000000000000000001", #""x""#],
            invalid: ["0.6", "1.0999999999999999999999", "-5"]),
        Case(
            #"{"minimum":-2}"#, valid: ["-2", "-2.0", "-1", "0", "-1.9999999999999999999"],
            invalid: ["-3", "-2.0001", "-1e9"]),
        Case(
            #"{"maximum":300}"#, valid: ["299.97", "300", "300.00", "-1e99"],
            invalid: ["300.5", "301", "3.0001e2", "1e3"]),
        Case(
            #"{"maximum":9223372036854775807}"#, valid: ["9223372036854775807", "-9223372036854775809"],
            invalid: ["9223372036854775808", "9223372036854775807.1", "1e19"]),
        Case(
            #"{"minimum":18446744073709551616}"#, valid: ["18446744073709551616", "1e20"],
            invalid: ["18446744073709551615", "1", "-1e20"]),
        Case(#"{"exclusiveMinimum":1}"#, valid: ["1.00000000000000000001", "2"], invalid: ["1", "1.0", "0", "-7"]),
        Case(
            #"{"exclusiveMaximum":-1.5}"#, valid: ["-1.51", "-2"], invalid: ["-1.5", "-1.50", "-1.49", "0", "0.0", "2"]),
        Case(#"{"minimum":0}"#, valid: ["0", "-0.0", "1e-400"], invalid: ["-1e-400", "-1"]),
        Case(
            #"{"multipleOf":2}"#, valid: ["10", "0", "-4", "1e30", "4.0", #""x""#], invalid: ["7", "0.5", "-3", "2.1"]),
        Case(
            #"{"multipleOf":0.01}"#, valid: ["0.07", "4.02", "1.1", "19.99", "1e2"],
            invalid: ["0.001", "0.075", "1e-3"]),
        Case(#"{"multipleOf":1.5}"#, valid: ["0", "4.5", "3", "-1.5"], invalid: ["35", "1", "4.51"]),
        Case(#"{"multipleOf":1e-8}"#, valid: ["12391239123", "0.00000001"], invalid: ["0.000000001", "1.000000005"]),
        Case(
            #"{"multipleOf":7}"#, valid: ["700000000000000000000000000007", "7e50"],
            invalid: ["700000000000000000000000000008", "1e50"]),
        Case(#"{"multipleOf":100}"#, valid: ["1e2", "300", "5e40"], invalid: ["1e1", "350", "0.5"]),
        Case(
            #"{"multipleOf":999999999999999989}"#, valid: ["999999999999999989000000", "1999999999999999978"],
            invalid: ["1e60", "999999999999999988"]),
    ]
    static let strings = [
        Case(
            #"{"minLength":2}"#, valid: [#""ab""#, #""éé""#, #""😀😀""#, "1", #""abcdefghi""#],
            invalid: [#""a""#, #""""#, #""😀""#, #""é""#]),
        Case(
            #"{"maxLength":2}"#, valid: [#""ab""#, #""😀😀""#, #""\ud83d\ude00x""#, "100", "[1,2,3]"],
            invalid: [#""abc""#, #""😀😀😀""#, #""abcdefghijk""#]),
        Case(#"{"minLength":2.0,"maxLength":2e0}"#, valid: [#""ab""#], invalid: [#""a""#, #""abc""#]),
        Case(#"{"maxLength":0}"#, valid: [#""""#], invalid: [#""a""#]),
        // One code point each of what looks like one character.
        Case(#"{"maxLength":1}"#, valid: [#""e""#], invalid: [#""e\u0301""#]),
        Case(#"{"pattern":"^a*$"}"#, valid: [#""aaa""#, #""""#, "12", "null"], invalid: [#""abc""#, #""aa\n""#]),
        Case(#"{"pattern":"a+"}"#, valid: [#""xxaayy""#, #""\u0061""#], invalid: [#""xyz""#]),
        Case(#"{"format":"ipv4"}"#, valid: [#""not an address""#, "1"]),
    ]

    @Test(arguments: types) func `types are told apart`(_ example: Case) throws { try example.check() }
    @Test(arguments: equality) func `const and enum compare by what values mean`(_ example: Case) throws {
        try example.check()
    }
    @Test(arguments: numbers) func `numbers are compared digit by digit`(_ example: Case) throws { try example.check() }
    @Test(arguments: strings) func `strings are measured in code points`(_ example: Case) throws { try example.check() }
}
