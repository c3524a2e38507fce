import Testing

@testable import KuraJSON

struct IncrementTests {
    @Test(arguments: [
        ("1", "2", "3"), ("0.1", "0.2", "0.3"), ("1.10", "0.10", "1.20"), ("-5", "5", "0"), ("-0.5", "0.25", "-0.25"),
        ("1e3", "1", "1001"), ("1.5e1", "1", "16"), ("2.5e-3", "1", "1.0025"), ("0", "-1", "-1"), ("-0.0", "0", "0.0"),
        ("9007199254740990", "1", "9007199254740991"), ("0.000000000000001", "0", "0.000000000000001"),
        ("99.99", "0.01", "100.00"), ("1.0000000000000000000000", "1", "2.000000000000000"), ("0.05", "-0.1", "-0.05"),
    ])
    func `sums are exact`(_ number: String, _ step: String, _ sum: String) throws {
        #expect(try Patched.increment(#"{"n":\#(number),"x":1}"#, "n", by: step) == [#"{"n":\#(sum),"x":1}"#, sum])
    }

    @Test(arguments: [
        ("9007199254740991", "1"), ("-9007199254740991", "-1"), ("90071992547409.91", "0.01"), ("1e300", "1"),
        ("1", "1e-16"), ("1234567890123456789012345", "1"), ("1e99999999999999999999", "0"),
    ])
    func `a sum with more digits than every reader keeps is refused`(_ number: String, _ step: String) {
        let fault = Patched.fault { () throws(PatchFault) in
            try Patched.increment(#"{"a":{"n":\#(number)}}"#, "a.n", by: step)
        }
        #expect(fault?.summary == "outOfRange - /a/n")
    }

    @Test func `what is missing comes to be`() throws {
        #expect(try Patched.increment("{}", "a", by: "2") == [#"{"a":2}"#, "2"])
        #expect(
            try Patched.increment(#"{"b":1}"#, #"a\.b.c.d"#, by: "1.50") == [
                #"{"b":1,"a.b":{"c":{"d":1.50}}}"#, "1.50",
            ])
        #expect(try Patched.increment(#"{"a":[{"n":1},{}]}"#, "a.1.n", by: "1") == [#"{"a":[{"n":1},{"n":1}]}"#, "1"])
        #expect(try Patched.increment(#"{"a":[1,2]}"#, "a.1", by: "1") == [#"{"a":[1,3]}"#, "3"])
    }

    @Test func `what is no number, and what can have no parts, is refused`() {
        func fault(_ document: String, _ path: String) -> String? {
            Patched.fault { () throws(PatchFault) in try Patched.increment(document, path, by: "1") }?.summary
        }
        #expect(fault(#"{"a":"1"}"#, "a") == "noNumber - /a")
        #expect(fault(#"{"a":null}"#, "a") == "noNumber - /a")
        #expect(fault(#"{"a":1}"#, "a.b") == "noContainer - /a/b")
        #expect(fault("7", "a") == "noContainer - /a")
        #expect(fault(#"{"a":[1]}"#, "a.b") == "badPosition - /a/b")
        #expect(fault(#"{"a":[1]}"#, "a.5") == "badPosition - /a/5")
        #expect(fault(#"{"a":[1]}"#, "a.1") == "badPosition - /a/1")
        #expect(fault(#"{"a":[1]}"#, "a.1.b") == "badPosition - /a/1")
    }
}
