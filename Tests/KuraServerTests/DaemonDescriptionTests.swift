import KuraProtocol
import Testing

@testable import KuraServer

/// What the daemon says of itself.
@Suite struct DaemonDescriptionTests {
    @Test func `the description has the daemon's own version and all methods`() {
        var description = DaemonDescription(version: "1.2.3-test", profile: "small", .standard)
        let text = String(decoding: Array(description.openRPC), as: UTF8.self)
        #expect(text.contains("\"version\":\"1.2.3-test\""))
        #expect(MethodTable.standard.methods.allSatisfy { text.contains("\"name\":\"\($0.name)\"") })
        #expect(!text.contains("\n"))
    }

    @Test func `memory that nobody knows of is not told`() {
        let description = DaemonDescription(version: "1", profile: "small", .standard)
        #expect(description.freeMemoryAtStart != .max)
    }
}
