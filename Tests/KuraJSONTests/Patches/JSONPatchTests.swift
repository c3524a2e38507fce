import KuraBytes
import Testing

@testable import KuraJSON

struct JSONPatchTests {
    /// Cases that a suite disables, by file: one operation twice in an object (not JSON on this wire), and what its authors left open.
    private static let disabled = ["spec_tests.json": 1, "tests.json": 3]

    @Test(
        .enabled(if: PatchSuites.has("json-patch/tests.json"), "json-patch-tests are not here: skipped"),
        arguments: ["spec_tests.json", "tests.json"])
    func `every enabled case of json-patch-tests comes out as it says`(_ file: String) throws {
        var skipped = 0
        var checked = 0
        let count = PatchSuites.forEachCase(of: "json-patch/" + file) { entry in
            guard entry["disabled"]?.kind != .true else {
                skipped += 1
                return
            }
            guard let document = entry["doc"], let patch = entry["patch"] else { return }
            checked += 1
            do throws(PatchFault) {
                let result = try Patched.json(document, patch)
                guard let expected = entry["expected"] else {
                    Issue.record("applied: \(entry.description)")
                    return
                }
                result.withBytes {
                    #expect(
                        Collation.areEqual(StoredValue($0), expected),
                        "\(result) instead of \(expected.description): \(entry.description)")
                }
            } catch {
                #expect(entry["error"] != nil, "\(error.summary): \(entry.description)")
            }
        }
        #expect(skipped == Self.disabled[file])
        #expect(checked == count - skipped && checked > 10)
    }

    @Test func `what is not touched stays byte for byte`() throws {
        let document = #"{"a":1.50,"b":[1e2,-0.0,12345678901234567890],"c\u0041":{"d":"\u00e9\/"}}"#
        #expect(
            try Patched.json(document, #"[{"op":"add","path":"/b/1","value":2.0}]"#)
                == #"{"a":1.50,"b":[1e2,2.0,-0.0,12345678901234567890],"c\u0041":{"d":"\u00e9\/"}}"#)
        #expect(
            try Patched.json(document, #"[{"op":"remove","path":"/a"},{"op":"replace","path":"/cA/d","value":null}]"#)
                == #"{"b":[1e2,-0.0,12345678901234567890],"c\u0041":{"d":null}}"#)
        #expect(
            try Patched.json(document, #"[{"op":"move","from":"/b","path":"/cA/b"}]"#)
                == #"{"a":1.50,"c\u0041":{"d":"\u00e9\/","b":[1e2,-0.0,12345678901234567890]}}"#)
        #expect(
            try Patched.json(document, #"[{"op":"copy","from":"/cA","path":"/b/-"}]"#)
                == #"{"a":1.50,"b":[1e2,-0.0,12345678901234567890,{"d":"\u00e9\/"}],"c\u0041":{"d":"\u00e9\/"}}"#)
    }

    @Test func `what is no part of an operation is passed over, whatever it is`() throws {
        let patch = #"[{"op":"add","path":"/a","value":1,"from":3},{"op":"test","path":"/a","value":1,"from":"~"}]"#
        #expect(try Patched.json("{}", patch) == #"{"a":1}"#)
    }

    @Test func `elements and members leave their commas behind`() throws {
        #expect(try Patched.json("[1]", #"[{"op":"remove","path":"/0"}]"#) == "[]")
        #expect(try Patched.json("[1,2]", #"[{"op":"remove","path":"/0"}]"#) == "[2]")
        #expect(try Patched.json("[1,2]", #"[{"op":"remove","path":"/1"}]"#) == "[1]")
        #expect(try Patched.json("[1,2,3]", #"[{"op":"remove","path":"/1"}]"#) == "[1,3]")
        #expect(try Patched.json(#"{"a":[]}"#, #"[{"op":"remove","path":"/a"}]"#) == "{}")
        #expect(try Patched.json(#"{"a":1,"b":2}"#, #"[{"op":"remove","path":"/b"}]"#) == #"{"a":1}"#)
    }

    @Test func `names with every kind of character are found and written`() throws {
        #expect(
            try Patched.json("{}", #"[{"op":"add","path":"/a~1b~0\"\\\u0001é","value":1}]"#)
                == #"{"a/b~\"\\\u0001é":1}"#)
        #expect(
            try Patched.json(#"{"a.b":{"$c":1}}"#, #"[{"op":"replace","path":"/a.b/$c","value":2}]"#)
                == #"{"a.b":{"$c":2}}"#)
        #expect(try Patched.json(#"{"\u0061":1}"#, #"[{"op":"test","path":"/a","value":1.0}]"#) == #"{"\u0061":1}"#)
    }

    @Test func `a fault names its operation and the place`() {
        func fault(_ document: String, _ patch: String) -> String? {
            Patched.fault { () throws(PatchFault) in try Patched.json(document, patch) }?.summary
        }
        #expect(fault("{}", "{}") == "noArray - -")
        #expect(fault("{}", "[7]") == "noOperation 0 -")
        #expect(fault("{}", #"[{"path":""}]"#) == "noOperation 0 -")
        #expect(fault("{}", #"[{"op":"replace","path":"/a/b/c","value":1}]"#) == "nothingThere 0 /a")
        #expect(
            fault(
                #"{"a":{"b":1}}"#,
                #"[{"op":"test","path":"/a","value":{"b":1}},{"op":"add","path":"/a/b/c","value":1}]"#)
                == "noContainer 1 /a/b/c")
        #expect(fault(#"{"a/b":[1]}"#, #"[{"op":"add","path":"/a~1b/2","value":1}]"#) == "badPosition 0 /a~1b/2")
        #expect(fault(#"{"a":[1]}"#, #"[{"op":"add","path":"/a/01","value":1}]"#) == "badPosition 0 /a/01")
        #expect(fault(#"{"a":[1]}"#, #"[{"op":"remove","path":"/a/-"}]"#) == "nothingThere 0 /a/-")
        #expect(fault(#"{"a":[1]}"#, #"[{"op":"test","path":"/a/0","value":2}]"#) == "testFailed 0 /a/0")
        #expect(fault(#"{"a":{}}"#, #"[{"op":"move","from":"/a","path":"/a/b"}]"#) == "intoItself 0 /a/b")
        #expect(fault("{}", #"[{"op":"remove","path":""}]"#) == "wholeDocument 0 ")
        #expect(fault("{}", #"[{"op":"move","from":"","path":"/a"}]"#) == "wholeDocument 0 ")
        #expect(fault("{}", #"[{"op":"add","path":"/~2","value":1}]"#) == "badPointer 0 -")
        #expect(fault("{}", #"[{"op":"add","path":"/~","value":1}]"#) == "badPointer 0 -")
        #expect(fault("{}", #"[{"op":7,"path":"/a","value":1}]"#) == "unknownOperation 0 -")
    }

    @Test func `a value is not found in a name that only begins alike`() throws {
        #expect(
            try Patched.json(#"{"ab":1,"a":2}"#, #"[{"op":"replace","path":"/a","value":3}]"#) == #"{"ab":1,"a":3}"#)
    }

    // MARK: Bounds

    @Test func `copies that would blow up are refused`() {
        // Each doubles what is there: 40 of them would make a tebibyte.
        let copies = [String](repeating: #"{"op":"copy","from":"","path":"/-"}"#, count: 40).joined(separator: ",")
        let fault = Patched.fault { () throws(PatchFault) in try Patched.json("[1,2,3,4,5,6,7,8]", "[\(copies)]") }
        #expect(fault?.reason == .tooLarge)
        // About 17 bytes that double reach a mebibyte with the 16th.
        #expect(fault?.operation.map { (14...17).contains($0) } == true)
    }

    @Test func `copies into themselves that would go too deep are refused`() {
        // The path is one level deeper each time.
        let copies = (0..<200).map { level in
            #"{"op":"add","path":"\#(String(repeating: "/a", count: level + 1))","value":{}}"#
        }.joined(separator: ",")
        let fault = Patched.fault { () throws(PatchFault) in try Patched.json("{}", "[\(copies)]") }
        #expect(fault?.reason == .tooDeep)
        #expect(fault?.operation == 125)
    }

    @Test func `work is bounded, and operations are`() {
        let document = "[" + [String](repeating: "1234567", count: 100_000).joined(separator: ",") + "]"
        let test = [String](repeating: #"{"op":"test","path":"/99999","value":1234567}"#, count: 200)
        let fault = Patched.fault { () throws(PatchFault) in
            try Patched.json(document, "[" + test.joined(separator: ",") + "]")
        }
        #expect(fault?.reason == .tooMuchWork)
        // 800 kB a look: 64 MiB are 83 of them.
        #expect(fault?.operation == 83)
        let many = [String](repeating: #"{"op":"test","path":"","value":1}"#, count: 1001).joined(separator: ",")
        #expect(
            Patched.fault { () throws(PatchFault) in try Patched.json("1", "[\(many)]") }?.summary
                == "tooManyOperations 1000 -")
    }

    @Test func `a patcher forgets what it did before`() throws {
        var patcher = JSONPatch()
        for round in 0..<3 {
            var output = ByteBuffer()
            try #"{"a":1}"#.withBytes { document in
                try #"[{"op":"add","path":"/b","value":\#(round)}]"#.withBytes { patch in
                    try patcher.apply(StoredValue(patch), to: StoredValue(document), into: &output, .test)
                }
            }
            #expect(String(decoding: output.bytes, as: UTF8.self) == #"{"a":1,"b":\#(round)}"#)
        }
    }
}
