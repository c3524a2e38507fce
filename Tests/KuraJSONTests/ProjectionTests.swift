import KuraBytes
import Testing

@testable import KuraJSON

struct ProjectionTests {
    private static func project(_ paths: [String], _ document: String) throws -> String {
        let projection = try Projection(paths.map { try $0.withBytes { try FieldPath($0) } })
        var output = ByteBuffer()
        document.withBytes { document in
            "i\"d".withBytes { projection.append(StoredValue(document), id: $0, to: &output) }
        }
        return String(output.bytes)
    }

    @Test func `wanted parts keep their text and their place`() throws {
        let document = #"{"a":{"b":1.0,"c":[10,{"d":"\u0041"}],"e":null},"f\"g":2,"h.i":3,"$j":4}"#
        #expect(try Self.project(["a.b"], document) == #"{"a":{"b":1.0}}"#)
        #expect(try Self.project(["a.c.1.d", "a.e"], document) == #"{"a":{"c":{"1":{"d":"\u0041"}},"e":null}}"#)
        #expect(try Self.project(["f\"g", #"h\.i"#, "$j"], document) == #"{"f\"g":2,"h.i":3,"$j":4}"#)
        #expect(try Self.project([#"q\\r"#, "s\u{1F}"], #"{"q\\r":1,"s\u001F":2}"#) == #"{"q\\r":1,"s\u001f":2}"#)
        // The whole has its parts.
        #expect(try Self.project(["a.b", "a"], #"{"a":{"b":1,"z":2}}"#) == #"{"a":{"b":1,"z":2}}"#)
    }

    @Test func `what is not there leaves nothing behind`() throws {
        #expect(try Self.project(["x", "a.x", "a.b.c"], #"{"a":{"b":1}}"#) == "{}")
        #expect(try Self.project(["a.x", "b"], #"{"a":{"b":1},"b":[]}"#) == #"{"b":[]}"#)
        for document in ["5", "[1]", "null", "{}"] { #expect(try Self.project(["a"], document) == "{}") }
    }

    @Test func `_id is the document's own, and comes first`() throws {
        #expect(try Self.project(["_id"], #"{"_id":1}"#) == #"{"_id":"i\"d"}"#)
        #expect(try Self.project(["a", "_id", "b.c"], #"{"b":{"c":2},"a":1}"#) == #"{"_id":"i\"d","a":1,"b":{"c":2}}"#)
        #expect(try Self.project(["_id", "x"], "5") == #"{"_id":"i\"d"}"#)
    }
}

struct DecimalSumTests {
    private static func sum(_ numbers: [String]) -> (sum: String, average: String) {
        var sum = DecimalSum()
        for number in numbers { number.withBytes { sum.add($0) } }
        var text = ByteBuffer()
        var average = ByteBuffer()
        sum.append(to: &text)
        sum.append(averageTo: &average)
        return (String(text.bytes), String(average.bytes))
    }

    @Test func `sums are exact and written plainly`() {
        #expect(Self.sum(["0.1", "0.2"]) == ("0.3", "0.15"))
        #expect(Self.sum([]) == ("0", "null"))
        #expect(Self.sum(["0", "-0.0", "0e5"]) == ("0", "0"))
        #expect(Self.sum(["1.5", "-2.5", "1"]).sum == "0")
        #expect(Self.sum(["-0.05"]).sum == "-0.05")
        #expect(Self.sum(["1e3", "1"]).sum == "1001")
        #expect(Self.sum(["1e25"]).sum == "1e25")
        #expect(Self.sum(["1e-50"]).sum == "1e-50")
        #expect(Self.sum(["9007199254740993", "9007199254740993"]).sum == "18014398509481986")
        #expect(
            Self.sum(["123456789012345678", "0.000000000000000001"]).sum == "123456789012345678.000000000000000001")
    }

    @Test func `what does not fit goes on as a double`() {
        #expect(Self.sum(["1e200", "1"]).sum == "1e+200")
        #expect(Self.sum(["12345678901234567890123", "1"]).sum == "1.2345678901234568e+22")
        #expect(Self.sum(["1e400", "1"]).sum == "null")
        #expect(Self.sum(["1e300", "-1e300", "5"]).sum == "5")
    }
}
