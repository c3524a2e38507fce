import KuraBytes
import KuraStorage
import Testing

@testable import KuraServer

@Suite struct ConfigurationTests {
    private func read(_ text: String) throws(Configuration.Refusal) -> Configuration {
        var configuration = Configuration()
        try text.withBytes { (text) throws(Configuration.Refusal) in try configuration.read(text) }
        return configuration
    }

    @Test func `budgets of disk writes are a store's or a client's, and have a number of bytes`() throws {
        let text =
            "{\"diskWrites\":{\"stores\":{\"models\":{\"diskWriteBudget\":5000}},"
            + "\"clients\":{\"mail/2\":{\"diskWriteBudget\":4096,\"throttle\":true}}}}"
        #expect(
            try read(text).writeBudgets == [
                WriteBudget(.store(.models), bytesPerDay: 5000),
                WriteBudget(.client(Array("mail/2".utf8)), bytesPerDay: 4096, throttles: true),
            ])
        for wrong in [
            "[]", "{\"store\":{}}", "{\"stores\":[]}", "{\"stores\":{\"model\":{\"diskWriteBudget\":5000}}}",
            "{\"stores\":{\"models\":{\"diskWriteBudget\":4095}}}", "{\"stores\":{\"models\":{}}}",
            "{\"stores\":{\"models\":{\"diskWriteBudget\":\"5000\"}}}",
            "{\"stores\":{\"models\":{\"diskWriteBudget\":5000,\"throttle\":true}}}",
            "{\"clients\":{\"mail\":{\"diskWriteBudget\":5000,\"throttle\":1}}}",
            "{\"clients\":{\"mail\":{\"diskWriteBudget\":5000,\"slow\":true}}}",
            "{\"clients\":{\"\":{\"diskWriteBudget\":5000}}}",
            "{\"clients\":{\"\(String(repeating: "m", count: 200))\":{\"diskWriteBudget\":5000}}}",
        ] {
            #expect(throws: Configuration.Refusal.self, "\(wrong)") { try read("{\"diskWrites\":\(wrong)}") }
        }
    }

    @Test func `limits are whole numbers within their ranges`() throws {
        #expect(try read("{\"limits\":{\"lineBytes\":2e3}}").limits.lineBytes == 2000)
        #expect(throws: Configuration.Refusal.self) { try read("{\"limits\":{\"lineBytes\":1023}}") }
    }

    // What fuzzing found: the daemon stopped with a trap, and told nobody which key was wrong.
    @Test(arguments: ["\"small\"", "\"4096\"", "true", "null", "{}", "[4096]"])
    func `a limit that is no number is refused by its name`(_ value: String) {
        let refusal = #expect(throws: Configuration.Refusal.self) {
            try read("{\"limits\":{\"lineBytes\":\(value)}}")
        }
        #expect(refusal?.description.contains("lineBytes") == true)
        #expect(throws: Configuration.Refusal.self) { try read("{\"changes\":{\"retainBytes\":\(value)}}") }
    }
}
