import KuraBytes
import KuraJSON
import Testing

@testable import KuraStorage

@Suite struct IndexChangesTests {
    private func definition(_ fields: String) throws -> IndexDefinition {
        try #require(
            try with("[{\"name\":\"i\",\"fields\":\(fields)}]") { (list) throws(IndexDefinition.Fault) in
                try IndexDefinition.list(list).first
            })
    }

    private func note(
        _ row: Int64, _ old: String?, _ new: String?, _ definition: IndexDefinition, _ changes: inout IndexChanges
    ) -> Bool {
        let (old, new) = (old.map { Array($0.utf8) }, new.map { Array($0.utf8) })
        return (old ?? []).withBytes { before in
            (new ?? []).withBytes { after in
                changes.note(
                    row, old == nil ? nil : StoredValue(before), new == nil ? nil : StoredValue(after), definition)
            }
        }
    }

    @Test func `a document whose key stays as it is changes nothing`() throws {
        let byAge = try definition("[\"age\"]")
        var changes = IndexChanges()
        let isChanged = note(1, "{\"age\":1,\"b\":2}", "{\"age\":1,\"b\":3}", byAge, &changes)
        let count = changes.count
        #expect(!isChanged)
        #expect(count == 0)
    }

    @Test func `changes are made in the order of keys, and what goes makes room for what comes`() throws {
        let byAge = try definition("[\"age\"]")
        var changes = IndexChanges()
        // 2 takes the key that 1 gives up.
        _ = note(2, nil, "{\"age\":5}", byAge, &changes)
        _ = note(1, "{\"age\":5}", "{\"age\":3}", byAge, &changes)
        _ = note(3, "{\"age\":4}", nil, byAge, &changes)
        changes.sort()
        var made: [String] = []
        for position in 0..<changes.count {
            made.append("\(changes[position].isInsertion ? "+" : "-")\(changes[position].row)")
        }
        #expect(made == ["+1", "-3", "-1", "+2"])
        changes.removeAll()
        let count = changes.count
        #expect(count == 0)
    }
}
