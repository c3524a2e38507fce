import KuraBytes
import KuraProtocol
import Testing

@testable import KuraServer

/// The memory that requests use one after the other.
@Suite struct WorkMemoryTests {
    /// Resolves an escape into the storage of a walk, and looks at where its text stands.
    private func resolve(_ text: StaticString, _ storage: WalkStorage) -> Bytes? {
        JSONWalk.string(Bytes(text), storage: storage)
    }

    @Test func `nothing of a secret stays when the request is through`() throws {
        var memory = WorkMemory()
        memory.meetsSecrets()
        memory.plaintext.append("secret")
        let plaintext = memory.plaintext.bytes
        let outer = try #require(resolve("\"\\u0073ecret\"", memory.walk))
        let inner = try #require(resolve("\"\\u0073ecret\"", memory.innerWalk))
        #expect([plaintext, outer, inner].allSatisfy { String(decoding: $0, as: UTF8.self) == "secret" })
        memory.wipe()
        // The blocks are kept, so that it can be seen what is left in them.
        #expect([plaintext, outer, inner].allSatisfy { $0.allSatisfy { $0 == 0 } })
        let (isEmpty, holdsSecrets) = (memory.plaintext.isEmpty, memory.holdsSecrets)
        #expect(isEmpty && !holdsSecrets)
    }

    @Test func `the block of a long secret is given back`() {
        var memory = WorkMemory()
        memory.plaintext.append([UInt8](repeating: 1, count: 100_000))
        memory.wipePlaintext()
        let long = memory.plaintext.capacity
        memory.plaintext.append([UInt8](repeating: 1, count: 1000))
        memory.wipePlaintext()
        let short = memory.plaintext.capacity
        #expect(long == 0 && short >= 1000)
    }
}
