import KuraBytes
import Testing

@testable import KuraJSON

struct MergePatchTests {
    @Test(.enabled(if: PatchSuites.has("rfc7396/vectors.json"), "the vectors of RFC 7396 are not here: skipped"))
    func `all vectors of RFC 7396 come out as they say`() {
        var checked = 0
        let count = PatchSuites.forEachCase(of: "rfc7396/vectors.json") { entry in
            guard let target = entry["target"], let patch = entry["patch"], let result = entry["result"] else { return }
            var output = ByteBuffer()
            do throws(PatchFault) { try MergePatch.apply(patch, to: target, into: &output, .test) } catch {
                Issue.record("\(error): \(entry.description)")
            }
            #expect(Collation.areEqual(StoredValue(output.bytes), result), "\(entry.description)")
            checked += 1
        }
        #expect(count == 15 && checked == 15)
    }

    @Test func `what is not named stays byte for byte and in its place`() throws {
        #expect(
            try Patched.merge(#"{"a":1.50,"\u0062":{"x":1e2,"y":-0.0},"c":[ ]}"#, #"{"b":{"y":null,"z":2},"d":0.10}"#)
                == #"{"a":1.50,"\u0062":{"x":1e2,"z":2},"c":[ ],"d":0.10}"#)
        #expect(try Patched.merge(#"{"a":1,"b":{"c":2}}"#, #"{"b":{"c":2}}"#) == #"{"a":1,"b":{"c":2}}"#)
    }

    @Test func `a patch of nothing there leaves its nulls out`() throws {
        #expect(try Patched.merge(nil, #"{"a":{"b":null,"c":1},"d":null}"#) == #"{"a":{"c":1}}"#)
        #expect(try Patched.merge(nil, #"[null]"#) == "[null]")
        #expect(try Patched.merge("7", #"{"a":1}"#) == #"{"a":1}"#)
    }

    @Test func `many members are matched as few are`() throws {
        var document = "{"
        var patch = "{"
        var expected = "{"
        for number in 0..<1000 {
            if number > 0 { document += "," }
            document += #""k\#(number)":\#(number)"#
            if number % 3 == 0 { patch += (patch == "{" ? "" : ",") + #""\u006b\#(number)":null"# }
            if number % 3 == 1 { patch += (patch == "{" ? "" : ",") + #""k\#(number)":"x""# }
            guard number % 3 > 0 else { continue }
            expected += (expected == "{" ? "" : ",") + #""k\#(number)":"# + (number % 3 == 1 ? #""x""# : "\(number)")
        }
        #expect(try Patched.merge(document + "}", patch + #","new":1}"#) == expected + #","new":1}"#)
    }

    @Test func `a result over its limit and work over its limit are refused`() {
        var limits = PatchLimits(resultBytes: 20)
        #expect(
            Patched.fault { () throws(PatchFault) in
                try Patched.merge(#"{"a":"0123456789"}"#, #"{"b":"0123456789"}"#, limits)
            }?.summary == "tooLarge - ")
        limits = .test
        limits.work = 100
        let nested = #"{"a":{"a":{"a":{"a":{"a":{"a":1}}}}}}"#
        #expect(
            Patched.fault { () throws(PatchFault) in try Patched.merge(nested, nested, limits) }?.summary
                == "tooMuchWork - ")
    }
}
