import KuraBytes
import Testing

@testable import KuraJSON

/// What one migration makes of a document.
private func migrate(
    _ document: String, _ steps: String, limits: MigrationLimits = MigrationLimits(resultBytes: 1 << 20)
) throws -> String {
    let plan = try plan(#"[{"to":2,"steps":[\#(steps)]}]"#, limits: limits)
    return try Array(document.utf8).withBytes { document in
        try plan.apply(to: document).map { String($0) } ?? "unchanged"
    }
}

private func plan(
    _ migrations: String, limits: MigrationLimits = MigrationLimits(resultBytes: 1 << 20)
) throws -> MigrationPlan {
    let list = try Array(migrations.utf8).withBytes { (text) throws(MigrationError) in try Migration.list(text) }
    return MigrationPlan(list, limits: limits)
}

private func fault(_ document: String, _ steps: String) -> String? {
    do {
        _ = try migrate(document, steps)
        return nil
    } catch let fault as MigrationFault {
        return "\(fault.reason) \(fault.step) \(String(decoding: fault.pointer, as: UTF8.self))"
    } catch { return "\(error)" }
}

struct MigrationStepTests {
    @Test(arguments: [
        // The value keeps its place and its text.
        (#"{"x":1,"a":1.50e1,"y":[ ]}"#, #"{"rename":{"from":"a","to":"b"}}"#, #"{"x":1,"b":1.50e1,"y":[ ]}"#),
        (#"{"o":{"p":{"a":1,"z":2}}}"#, #"{"rename":{"from":"o.p.a","to":"o.p.b"}}"#, #"{"o":{"p":{"b":1,"z":2}}}"#),
        (#"{"l":[{"a":1},{"a":2}]}"#, #"{"rename":{"from":"l.1.a","to":"l.1.b"}}"#, #"{"l":[{"a":1},{"b":2}]}"#),
        (#"{"\u0061":1}"#, #"{"rename":{"from":"a","to":"q\"\\\\"}}"#, #"{"q\"\\":1}"#),
        (#"{"a.b":1}"#, #"{"rename":{"from":"a\\.b","to":"c"}}"#, #"{"c":1}"#),
        (#"{"b":1}"#, #"{"rename":{"from":"a","to":"c"}}"#, "unchanged"),
        (#"{"a":1,"b":2}"#, #"{"rename":{"from":"a","to":"b","ifExists":"keep"}}"#, "unchanged"),
        (#"{"a":1,"b":2}"#, #"{"rename":{"from":"a","to":"b","ifExists":"replace"}}"#, #"{"b":1}"#),
        (#"{"b":2,"a":1}"#, #"{"rename":{"from":"a","to":"b","ifExists":"replace"}}"#, #"{"b":1}"#),
        ("7", #"{"rename":{"from":"a","to":"b"}}"#, "unchanged"),
    ])
    func `rename gives a member another name in its place`(_ document: String, _ step: String, _ result: String) throws
    {
        #expect(try migrate(document, step) == result)
    }

    @Test(arguments: [
        (#"{"a":{"b":1.0,"c":2},"d":3}"#, #"{"move":{"from":"a.b","to":"e"}}"#, #"{"a":{"c":2},"d":3,"e":1.0}"#),
        (#"{"a":1,"d":3}"#, #"{"move":{"from":"a","to":"x.y.z"}}"#, #"{"d":3,"x":{"y":{"z":1}}}"#),
        (#"{"a":1,"x":{}}"#, #"{"move":{"from":"a","to":"x.y.z"}}"#, #"{"x":{"y":{"z":1}}}"#),
        (#"{"l":[1,2,3]}"#, #"{"move":{"from":"l.1","to":"two"}}"#, #"{"l":[1,3],"two":2}"#),
        (#"{"p":{"amount":5}}"#, #"{"move":{"from":"p.amount","to":"p","ifExists":"replace"}}"#, #"{"p":5}"#),
        (#"{"a":1,"b":2}"#, #"{"move":{"from":"a","to":"b","ifExists":"replace"}}"#, #"{"b":1}"#),
        (#"{"a":1,"b":2}"#, #"{"move":{"from":"a","to":"b","ifExists":"keep"}}"#, "unchanged"),
        (#"{"b":1}"#, #"{"move":{"from":"a","to":"c.d"}}"#, "unchanged"),
        (#"{"l":[{"a":1}],"b":2}"#, #"{"move":{"from":"b","to":"l.0.c"}}"#, #"{"l":[{"a":1,"c":2}]}"#),
    ])
    func `move takes a value elsewhere, with the objects on the way`(
        _ document: String, _ step: String, _ result: String
    ) throws {
        #expect(try migrate(document, step) == result)
    }

    @Test(arguments: [
        (
            #"{"x":1}"#, #"{"setDefault":{"path":"a","value":{"k":[1.10,"\u00e4"]}}}"#,
            #"{"x":1,"a":{"k":[1.10,"\u00e4"]}}"#
        ),
        ("{}", #"{"setDefault":{"path":"a.b.c","value":0}}"#, #"{"a":{"b":{"c":0}}}"#),
        (#"{"a":null}"#, #"{"setDefault":{"path":"a","value":0}}"#, "unchanged"),
        (#"{"l":[{},{"n":1}]}"#, #"{"setDefault":{"path":"l.0.n","value":null}}"#, #"{"l":[{"n":null},{"n":1}]}"#),
    ])
    func `setDefault fills in what is missing, and nothing else`(
        _ document: String, _ step: String, _ result: String
    ) throws {
        #expect(try migrate(document, step) == result)
    }

    @Test(arguments: [
        (#"{"a":1,"b":2,"c":3}"#, #"{"remove":"a"}"#, #"{"b":2,"c":3}"#),
        (#"{"a":1,"b":2,"c":3}"#, #"{"remove":"c"}"#, #"{"a":1,"b":2}"#),
        (#"{"a":{"b":2}}"#, #"{"remove":"a.b"}"#, #"{"a":{}}"#), (#"{"l":[1,2]}"#, #"{"remove":"l.0"}"#, #"{"l":[2]}"#),
        (#"{"a":1}"#, #"{"remove":"b"}"#, "unchanged"), ("[1]", #"{"remove":"b"}"#, "unchanged"),
    ])
    func `remove takes a value out`(_ document: String, _ step: String, _ result: String) throws {
        #expect(try migrate(document, step) == result)
    }

    @Test(arguments: [
        ("string", "1.50", #""1.50""#), ("string", "-1E+2", #""-1E+2""#), ("string", "true", #""true""#),
        ("string", #""a""#, "same"), ("string", "[1]", "notText"), ("string", "{}", "notText"),
        ("integer", "3", "same"), ("integer", "-0", "same"), ("integer", "3.0", "3"), ("integer", "-1.5e3", "-1500"),
        ("integer", "12345678901234567890123", "same"), ("integer", "0.0", "0"), ("integer", "3.5", "notInteger"),
        ("integer", "1e40", "tooManyDigits"), ("integer", "1e39", "1" + String(repeating: "0", count: 39)),
        ("integer", #""42""#, "42"), ("integer", #""4e1""#, "40"), ("integer", #""""#, "notInteger"),
        ("integer", #""042""#, "notInteger"), ("integer", #"" 42""#, "notInteger"), ("integer", #""+1""#, "notInteger"),
        ("integer", "true", "1"), ("integer", "{}", "notInteger"), ("number", "1.10", "same"),
        ("number", #""1.10""#, "1.10"), ("number", #""-1E+2""#, "-1E+2"), ("number", #""1.""#, "notNumber"),
        ("number", #"".5""#, "notNumber"), ("number", #""1e""#, "notNumber"), ("number", #""x""#, "notNumber"),
        ("number", "false", "0"), ("boolean", "true", "same"), ("boolean", #""true""#, "true"),
        ("boolean", #""False""#, "notBoolean"), ("boolean", "1.0", "true"), ("boolean", "0e5", "false"),
        ("boolean", "2", "notBoolean"), ("boolean", "[]", "notBoolean"), ("string", "null", "same"),
        ("integer", "null", "same"), ("number", "null", "same"), ("boolean", "null", "same"),
    ])
    func `convert keeps digits as they are, and never guesses`(_ type: String, _ value: String, _ result: String) throws
    {
        let document = #"{"n":\#(value),"m":1.0}"#
        let step = #"{"convert":{"path":"n","to":"\#(type)"}}"#
        switch result {
        case "same": #expect(try migrate(document, step) == "unchanged")
        case _ where result.hasPrefix("not") || result.hasPrefix("too"):
            #expect(fault(document, step) == "\(result) 0 /n")
        default: #expect(try migrate(document, step) == #"{"n":\#(result),"m":1.0}"#)
        }
    }

    @Test func `a value that cannot be converted stays, becomes null, goes, or stops the document`() throws {
        let document = #"{"a":1,"n":"x","z":2}"#
        func step(_ onFailure: String) -> String {
            #"{"convert":{"path":"n","to":"integer","onFailure":"\#(onFailure)"}}"#
        }
        #expect(try migrate(document, step("keep")) == "unchanged")
        #expect(try migrate(document, step("null")) == #"{"a":1,"n":null,"z":2}"#)
        #expect(try migrate(document, step("remove")) == #"{"a":1,"z":2}"#)
        #expect(fault(document, step("fail")) == "notInteger 0 /n")
        // The rest is done nevertheless.
        #expect(try migrate(document, step("keep") + #",{"remove":"z"}"#) == #"{"a":1,"n":"x"}"#)
    }

    @Test(arguments: [
        (#"{"a":1,"b":2}"#, #"{"rename":{"from":"a","to":"b"}}"#, "targetExists 0 /b"),
        (#"{"a":1,"b":2}"#, #"{"remove":"x"},{"move":{"from":"a","to":"b"}}"#, "targetExists 1 /b"),
        (#"{"a":1,"b":2}"#, #"{"move":{"from":"a","to":"b.c"}}"#, "noContainer 0 /b/c"),
        (#"{"a":1,"l":[]}"#, #"{"move":{"from":"a","to":"l.0"}}"#, "badPosition 0 /l/0"),
        (#"{"a":1,"l":[]}"#, #"{"move":{"from":"a","to":"l.-"}}"#, "badPosition 0 /l/-"),
        (#"{"l":[1,2]}"#, #"{"rename":{"from":"l.0","to":"l.5"}}"#, "noName 0 /l/5"),
        ("7", #"{"setDefault":{"path":"a","value":1}}"#, "noContainer 0 /a"),
        (#"{"l":[1]}"#, #"{"setDefault":{"path":"l.x","value":1}}"#, "badPosition 0 /l/x"),
    ])
    func `what cannot be done is told with its place`(_ document: String, _ steps: String, _ expected: String) {
        #expect(fault(document, steps) == expected)
    }

    @Test func `steps are taken in their order, and untouched text stays byte for byte`() throws {
        let document = #"{"x":1E-2,"b":2,"a":"\u00e4\/","o":{"k":-0.0}}"#
        let steps =
            #"{"rename":{"from":"b","to":"c"}},{"rename":{"from":"a","to":"b"}},{"setDefault":{"path":"a","value":0}}"#
        #expect(try migrate(document, steps) == #"{"x":1E-2,"c":2,"b":"\u00e4\/","o":{"k":-0.0},"a":0}"#)
        // What comes to the same text is no change.
        #expect(
            try migrate(#"{"a":1}"#, #"{"rename":{"from":"a","to":"b"}},{"rename":{"from":"b","to":"a"}}"#)
                == "unchanged")
    }

    @Test func `results stay within their bounds`() throws {
        var limits = MigrationLimits(resultBytes: 20)
        let step = #"{"setDefault":{"path":"a","value":"0123456789"}}"#
        #expect(try migrate("{}", step, limits: limits) == #"{"a":"0123456789"}"#)
        #expect(throws: MigrationFault.self) { try migrate(#"{"b":1}"#, step, limits: limits) }
        limits = MigrationLimits(resultBytes: 1 << 20)
        limits.depth = 3
        #expect(try migrate("{}", #"{"setDefault":{"path":"a.b","value":[]}}"#, limits: limits) == #"{"a":{"b":[]}}"#)
        #expect(throws: MigrationFault.self) {
            try migrate("{}", #"{"setDefault":{"path":"a.b","value":[[]]}}"#, limits: limits)
        }
        #expect(throws: MigrationFault.self) {
            try migrate(#"{"a":[1]}"#, #"{"remove":"a.0"}"#, limits: MigrationLimits(resultBytes: 99, work: 5))
        }
    }

    @Test func `migrations apply from a version on, and each step counts`() throws {
        let plan = try plan(
            #"[{"to":2,"steps":[{"rename":{"from":"a","to":"b"}}]},{"to":3,"steps":[{"convert":{"path":"b","to":"integer","onFailure":"keep"}},{"remove":"c"}]}]"#
        )
        func apply(_ document: String, from: Int) throws -> String? {
            try Array(document.utf8).withBytes { try plan.apply(to: $0, from: from).map { String($0) } }
        }
        #expect(try apply(#"{"a":"1","c":0}"#, from: 0) == #"{"b":1}"#)
        #expect(try apply(#"{"a":"1","c":0}"#, from: 1) == #"{"a":"1"}"#)
        #expect(try apply(#"{"a":"1","c":0}"#, from: 2) == nil)
        #expect(try apply(#"{"b":"x"}"#, from: 1) == nil)
        #expect(plan.unconverted?.step == 0)
        #expect(plan.counts.map(\.changed) == [1, 1, 2])
        #expect(plan.counts.map(\.unconverted) == [0, 1, 0])
        #expect(plan.counts.map(\.version) == [2, 3, 3])
    }
}

struct MigrationListTests {
    private func fault(_ text: String) -> String? {
        do {
            _ = try Array(text.utf8).withBytes { (text) throws(MigrationError) in try Migration.list(text) }
            return nil
        } catch { return "\(error.pointer): \(error.message)" }
    }

    @Test(arguments: [
        ("{}", ""), ("[1]", "/0"), (#"[{"steps":[]}]"#, "/0"), (#"[{"to":2}]"#, "/0"),
        (#"[{"to":1,"steps":[]}]"#, "/0/to"), (#"[{"to":2.5,"steps":[]}]"#, "/0/to"),
        (#"[{"to":2147483648,"steps":[]}]"#, "/0/to"), (#"[{"to":"2","steps":[]}]"#, "/0/to"),
        (#"[{"to":2,"steps":{}}]"#, "/0/steps"), (#"[{"to":2,"steps":[],"x":1}]"#, "/0"),
        (#"[{"to":2,"steps":[]},{"to":2,"steps":[]}]"#, "/1/to"),
        (#"[{"to":3,"steps":[]},{"to":2,"steps":[]}]"#, "/1/to"),
        (#"[{"to":2,"steps":[1]}]"#, "/0/steps/0"), (#"[{"to":2,"steps":[{}]}]"#, "/0/steps/0"),
        (#"[{"to":2,"steps":[{"drop":"a"}]}]"#, "/0/steps/0"),
        (#"[{"to":2,"steps":[{"remove":"a","rename":1}]}]"#, "/0/steps/0"),
        (#"[{"to":2,"steps":[{"remove":"a"},{"remove":"a..b"}]}]"#, "/0/steps/1/remove"),
        (#"[{"to":2,"steps":[{"remove":1}]}]"#, "/0/steps/0/remove"),
        (#"[{"to":2,"steps":[{"rename":"a"}]}]"#, "/0/steps/0/rename"),
        (#"[{"to":2,"steps":[{"rename":{"from":"a"}}]}]"#, "/0/steps/0/rename"),
        (#"[{"to":2,"steps":[{"rename":{"from":"a","to":"a"}}]}]"#, "/0/steps/0/rename/to"),
        (#"[{"to":2,"steps":[{"rename":{"from":"a.b","to":"c"}}]}]"#, "/0/steps/0/rename/to"),
        (#"[{"to":2,"steps":[{"rename":{"from":"a","to":""}}]}]"#, "/0/steps/0/rename/to"),
        (#"[{"to":2,"steps":[{"move":{"from":"a","to":"a.b"}}]}]"#, "/0/steps/0/move/to"),
        (#"[{"to":2,"steps":[{"move":{"from":"a","to":"b","ifExists":"x"}}]}]"#, "/0/steps/0/move/ifExists"),
        (#"[{"to":2,"steps":[{"move":{"from":"a","to":"b","more":1}}]}]"#, "/0/steps/0/move"),
        (#"[{"to":2,"steps":[{"setDefault":{"path":"a"}}]}]"#, "/0/steps/0/setDefault"),
        (#"[{"to":2,"steps":[{"convert":{"path":"a","to":"date"}}]}]"#, "/0/steps/0/convert/to"),
        (
            #"[{"to":2,"steps":[{"convert":{"path":"a","to":"string","onFailure":"stop"}}]}]"#,
            "/0/steps/0/convert/onFailure"
        ),
    ])
    func `what is no migration is refused with its place`(_ text: String, _ pointer: String) {
        #expect(fault(text)?.prefix(while: { $0 != ":" }) == Substring(pointer))
    }

    @Test func `lists have bounds`() {
        let steps = [String](repeating: #"{"remove":"a"}"#, count: 257).joined(separator: ",")
        #expect(fault(#"[{"to":2,"steps":[\#(steps)]}]"#)?.hasPrefix("/0/steps/256:") == true)
        let list = (2...258).map { #"{"to":\#($0),"steps":[]}"# }
        #expect(fault("[\(list.joined(separator: ","))]")?.hasPrefix("/256:") == true)
        #expect(fault("[\(list.dropLast().joined(separator: ","))]") == nil)
        let path = String(repeating: "a", count: 1025)
        #expect(fault(#"[{"to":2,"steps":[{"remove":"\#(path)"}]}]"#)?.hasPrefix("/0/steps/0/remove:") == true)
    }
}
