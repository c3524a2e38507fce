import KuraBytes
import Testing

@testable import KuraServer

@Suite struct ConfigurationTests {
    private func read(_ text: String) throws(Configuration.Refusal) -> Configuration {
        var configuration = Configuration()
        try text.withBytes { (text) throws(Configuration.Refusal) in try configuration.read(text) }
        return configuration
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
