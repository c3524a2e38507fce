import KuraBytes
import Testing

@testable import KuraStorage

@Suite struct ChangePageTests {
    private let chunk = ChangeChunk(after: 0)
    private let all = ChangePage.Limits(items: 1000, bytes: 1 << 20, scanned: 1 << 20)

    /// A row of transactions: each a revision with its keys; a key that ends in "-" is deleted.
    private func row(_ transactions: [(UInt64, [String])], store: Store = .settings, scope: String = "s") {
        var buffer = RecordBuffer()
        for (rev, keys) in transactions {
            for key in keys {
                let isTombstone = key.hasSuffix("-")
                with(scope, isTombstone ? String(key.dropLast()) : key, isTombstone ? "" : "\(rev)") {
                    scope, key, value in
                    buffer.append(
                        LogRecord(
                            store: store, isTombstone: isTombstone, rev: rev, scope: scope, key: key,
                            writer: Bytes(start: nil, count: 0), value: value))
                }
            }
        }
        chunk.append(rev: transactions.last!.0, at: 0, records: buffer.bytes)
    }

    private func page(
        after rev: UInt64 = 0, upTo synced: UInt64 = .max, _ filter: ChangeFilter = ChangeFilter(),
        _ limits: ChangePage.Limits? = nil
    ) throws -> (changes: [String], rev: UInt64, isFull: Bool) {
        let page = ChangePage()
        page.begin(after: rev)
        try page.take(chunk, upTo: synced, filter, limits ?? all, values: true)
        var changes: [String] = []
        page.forEach { changes.append("\($0.key.text)\($0.isDeleted ? "-" : "")@\($0.rev)") }
        #expect(changes.count == page.count)
        let found = (changes, page.rev, page.isFull)
        page.clear()
        #expect(page.count == 0 && page.bytes == 0)
        return found
    }

    @Test func `an item appears once, with its newest state, in the order of revisions`() throws {
        row([(1, ["a"]), (2, ["b", "c"]), (3, ["a"])])
        row([(4, ["b-"]), (5, ["d"])])
        #expect(try page() == (["c@2", "a@3", "b-@4", "d@5"], 5, false))
        #expect(try page(after: 3) == (["b-@4", "d@5"], 5, false))
        // From the middle of a row.
        #expect(try page(after: 1) == (["c@2", "a@3", "b-@4", "d@5"], 5, false))
    }

    @Test func `the same key in another scope or store is another item`() throws {
        row([(1, ["a"])])
        row([(2, ["a"])], scope: "t")
        row([(3, ["a"])], store: .documents)
        #expect(try page().changes == ["a@1", "a@2", "a@3"])
        var filter = ChangeFilter()
        filter.scope = Array("t".utf8)
        #expect(try page(filter) == (["a@2"], 3, false))
        #expect(try page(ChangeFilter(stores: [.documents])) == (["a@3"], 3, false))
        filter = ChangeFilter()
        filter.prefix = Array("b".utf8)
        #expect(try page(filter) == ([], 3, false))
    }

    @Test func `secrets whose names cannot be opened are one change, for whoever may see any of these`() throws {
        let hash = String(repeating: "0", count: 31)
        row([(1, [hash + "1"]), (2, [hash + "2"]), (3, [hash + "1-"])], store: .secrets)
        row([(4, ["a"])])
        #expect(try page() == (["@3", "a@4"], 4, false))
        #expect(try page(ChangeFilter(stores: [.settings])) == (["a@4"], 4, false))
        var filter = ChangeFilter(stores: [.secrets])
        filter.prefix = Array("b".utf8)
        filter.scope = Array("t".utf8)
        #expect(try page(filter) == (["@3"], 4, false))
        filter.visible = VisibleScopes({ _, _ in true }, seesSecrets: { $0.map { !$0.equals("t") } ?? true })
        #expect(try page(filter) == ([], 4, false))
        filter.scope = nil
        #expect(try page(filter) == (["@3"], 4, false))
    }

    @Test func `what is not synced is not there`() throws {
        row([(1, ["a"]), (2, ["b"])])
        row([(3, ["c"])])
        #expect(try page(upTo: 2) == (["a@1", "b@2"], 2, false))
        #expect(try page(upTo: 0) == ([], 0, false))
    }

    @Test func `a page ends between two transactions, however long the last one is`() throws {
        row([(1, ["a", "b", "c"]), (2, ["d"]), (3, ["e", "f"])])
        row([(4, ["g"])])
        let one = ChangePage.Limits(items: 1, bytes: 1 << 20, scanned: 1 << 20)
        var rev: UInt64 = 0
        var pages: [[String]] = []
        while true {
            let found = try page(after: rev, ChangeFilter(), one)
            pages.append(found.changes)
            rev = found.rev
            if !found.isFull { break }
        }
        #expect(pages == [["a@1", "b@1", "c@1"], ["d@2"], ["e@3", "f@3"], ["g@4"]])
        let few = ChangePage.Limits(items: 1000, bytes: 1, scanned: 1 << 20)
        #expect(try page(after: 1, ChangeFilter(), few) == (["d@2"], 2, true))
        // A filter that admits nothing is held up by what it has looked through.
        var filter = ChangeFilter()
        filter.prefix = Array("z".utf8)
        #expect(try page(filter, ChangePage.Limits(items: 10, bytes: 100, scanned: 1)) == ([], 1, true))
    }

    @Test func `thousands of items coalesce to the newest of each`() throws {
        var random = SplitMix(state: 5)
        var newest: [String: UInt64] = [:]
        for rev in 1...20_000 as ClosedRange<UInt64> {
            let key = "k\(Int.random(in: 0...3000, using: &random))"
            newest[key] = rev
            row([(rev, [key])])
        }
        let wide = ChangePage.Limits(items: 1 << 20, bytes: 1 << 30, scanned: 1 << 30)
        let found = try page(ChangeFilter(), wide)
        #expect(found.changes == newest.sorted { $0.value < $1.value }.map { "\($0.key)@\($0.value)" })
    }

    @Test func `bytes that are no records are found out`() {
        let broken = ChangeChunk(after: 0)
        [UInt8](repeating: 7, count: 50).withBytes { broken.append(rev: 1, at: 0, records: $0) }
        let page = ChangePage()
        page.begin(after: 0)
        #expect(throws: StorageFault.self) {
            try page.take(broken, upTo: 9, ChangeFilter(), all, values: false)
        }
    }
}
