import KuraBytes
import SQLite
import Testing

@testable import KuraStorage

/// Random puts, deletes, configurations, folds and kills; in between each index table must be what a walk over all documents
/// makes out, and what is refused must be what a plain dictionary says.
@Suite struct IndexModelTests {
    private static let lists = [
        "[]",
        "[{\"name\":\"a\",\"fields\":[\"a\"]}]",
        "[{\"name\":\"a\",\"fields\":[\"a\"]},{\"name\":\"ab\",\"fields\":[\"a\",\"b.c\"]}]",
        "[{\"name\":\"a\",\"fields\":[\"b\"]},{\"name\":\"u\",\"fields\":[\"u\"],\"unique\":true}]",
        "[{\"name\":\"u\",\"fields\":[\"u\"],\"unique\":true}]",
        "[{\"name\":\"p\",\"fields\":[\"a\",\"u\"],\"where\":{\"b\":{\"$exists\":true},\"u\":{\"$gt\":20}}}]",
    ]

    private func value(_ random: inout SplitMix) -> (text: String, unique: Int?) {
        let unique = Int.random(in: 0..<60, using: &random)
        let scalars = ["1", "1.0", "\"x\"", "null", "[1,2]", "{\"c\":true}", "-3e2"]
        let (a, b) = (scalars.randomElement(using: &random)!, scalars.randomElement(using: &random)!)
        let filler = String(repeating: "f", count: Int.random(in: 0..<200, using: &random))
        guard unique < 50 else { return ("{\"a\":\(a),\"b\":\(b)}", nil) }
        return ("{\"a\":\(a),\"b\":\(b),\"u\":\(unique),\"f\":\"\(filler)\"}", unique)
    }

    @Test(arguments: [1, 2, 3, 4, 5, 6, 7, 8] as [UInt64]) func `index tables are what a full walk makes out`(
        seed: UInt64
    ) throws {
        let directory = TemporaryDirectory()
        let configuration = StorageConfiguration.tiny(directory.path)
        var random = SplitMix(state: seed)
        var storage: IndexHarness! = try IndexHarness(configuration)
        var held: [String: Int] = [:]
        var checks = 0
        for _ in 0..<800 {
            switch Int.random(in: 0..<100, using: &random) {
            case 0..<60:
                let id = "d\(Int.random(in: 0..<80, using: &random))"
                let (text, unique) = value(&random)
                let isWatched = storage.indexes().contains { $0.definition.isUnique && $0.state == .ready }
                let holder = unique.flatMap { unique in held.first { $0.value == unique && $0.key != id }?.key }
                do {
                    try storage.put(id, text)
                    if isWatched { #expect(holder == nil) }
                    held[id] = unique
                } catch DocumentsError.uniqueViolation(let violation) {
                    #expect(held[violation.id.withBytes { $0.text }] == unique)
                    #expect(holder != nil)
                }
            case 60..<75:
                let id = "d\(Int.random(in: 0..<80, using: &random))"
                try storage.delete(id)
                held[id] = nil
            case 75..<78:
                try storage.configure(Self.lists.randomElement(using: &random)!)
            case 78..<90:
                try storage.fold()
            case 90..<93:
                try storage.settle()
                #expect(try storage.difference() == nil)
                checks += 1
            case 93..<95:
                try storage.commit()
                storage = nil
                storage = try IndexHarness(configuration)
            default:
                try storage.commit()
            }
        }
        try storage.settle()
        #expect(try storage.difference() == nil)
        #expect(checks > 0)
    }
}
