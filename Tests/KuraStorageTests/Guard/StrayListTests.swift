import KuraBytes
import Testing

@testable import KuraStorage

/// Lists of attachments whose documents are not there, and what is counted of a file, in more items than memory is given for.
@Suite struct StrayListTests {
    private let directory = TemporaryDirectory()
    private static let list =
        "[{\"name\":\"a\",\"bytes\":2,\"digest\":\"\(String(repeating: "ab", count: 32))\"}]"

    /// Shows records: live documents `kept`, and lists of documents.
    private func each(
        documents: [String], lists: [String], _ body: (JudgedRecord) throws(BackupFault) -> Void
    ) throws(BackupFault) {
        var records = RecordGuard(.backup)
        for (store, names) in [(Store.documents, documents), (.attachments, lists)] {
            for (position, name) in names.enumerated() {
                try with("notes", name, store == .documents ? "1" : Self.list) {
                    (scope, key, value) throws(BackupFault) in
                    let record = BackupRecord(
                        store: store, rev: 1, version: 1, row: UInt64(position + 1), scope: scope, key: key,
                        value: value)
                    guard let judged = records.admit(record) else { throw .malformed }
                    try body(judged)
                }
            }
        }
    }

    private func tables(leavesOut: Bool, documents: [String], lists: [String]) throws -> Int {
        let path = directory.path + (leavesOut ? "/one.sqlite" : "/two.sqlite")
        let tables = try RestoredTables(path, leavesOutStrays: leavesOut)
        try each(documents: documents, lists: lists) { (judged) throws(BackupFault) in try tables.apply(judged) }
        let count = try tables.countContents().count
        try tables.finish(LogHistory(epoch: "e"), rev: 1)
        return count
    }

    @Test func `tables refuse a list without its document, and name its record`() throws {
        #expect {
            try tables(leavesOut: false, documents: ["kept"], lists: ["kept", "gone"])
        } throws: {
            "\($0)"
                == "record 3 (attachments/notes/gone) is not what a daemon writes: it lists attachments of a document that is not there"
        }
    }

    @Test func `a recovery leaves a list out that has lost its document`() throws {
        #expect(try tables(leavesOut: true, documents: ["kept"], lists: ["gone"]) == 0)
    }

    @Test func `tables take a list with its document`() throws {
        #expect(try tables(leavesOut: false, documents: ["kept"], lists: ["kept"]) == 1)
    }

    @Test func `of more items than are kept nothing is told, and of as many everything`() throws {
        var (small, whole) = (ItemCensus(most: 3), ItemCensus(most: 5))
        try each(documents: ["kept"], lists: ["kept", "gone"]) { judged in
            small.note(judged)
            whole.note(judged)
        }
        try small.finish(BackupManifest())
        #expect(throws: BackupFault.strayList(record: 3)) { try whole.finish(BackupManifest()) }
    }
}
