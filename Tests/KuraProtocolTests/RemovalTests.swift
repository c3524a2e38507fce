import KuraProtocol
import Testing

@Suite struct RemovalTests {
    @Test func `a method that only takes something away is known by what it needs`() {
        let removals = Set(MethodTable.standard.methods.filter(\.isRemoval).map(\.name))
        let expected: Set = [
            "documents.delete", "documents.deleteMany", "documents.drop", "documents.purge", "settings.delete",
            "secrets.delete", "blobs.delete", "blobs.deleteMany", "models.delete", "models.deleteMany",
        ]
        #expect(removals.isSuperset(of: expected))
        #expect(removals.allSatisfy { !$0.contains("put") && !$0.contains("restore") && !$0.contains("configure") })
    }
}
