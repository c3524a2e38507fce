import KuraBytes
import Testing

@testable import KuraStorage

/// Whose a change is: on the bill, for its quotas and for its room.
@Suite struct AuthorTests {
    private let directory = TemporaryDirectory()
    private let ledger: Ledger
    private let settings: SettingsStore

    init() {
        ledger = Ledger(configuration: .tiny(directory.path), scopes: ScopeTable(), rev: 0)
        settings = SettingsStore(ledger: ledger)
    }

    private func author(
        _ name: String, _ operation: Int = 7, request: UInt64 = 1, takesAway: Bool = false,
        accounts: [QuotaAccount] = []
    ) -> Author {
        let name = Array(name.utf8)
        let number = ledger.bill.number(of: name, user: 1)
        return Author(
            Author.Program(name: name, number: number, accounts: accounts), operation: operation, request: request,
            takesAway: takesAway)
    }

    private func put(_ key: String, _ value: String = "1", by author: Author) throws(EngineError) {
        _ = try with("d", key, value) { (domain, key, value) throws(EngineError) in
            try settings.put(domain, key, value, ifRev: nil, by: author)
        }
    }

    /// A change that joins whatever is open.
    private func stage(_ key: String) throws(EngineError) {
        try with("d", key, "1") { (domain, key, value) throws(EngineError) in
            try ledger.stage(
                ledger.scopes.findOrPrepare(.settings, domain), key: key, value: value, isTombstone: false, old: nil,
                oldBytes: 0, newBytes: 2
            ) { _ in }
        }
    }

    /// Changes by program and method.
    private var billed: [String: Int] {
        ledger.bill.untaken.reduce(into: [:]) { sums, entry in
            let name = String(decoding: ledger.bill.writers[Int(entry.key.writer)].name, as: UTF8.self)
            sums["\(name) \(entry.key.operation)", default: 0] += entry.tally.changes
        }
    }

    @Test func `a change is on the bill of its transaction's author, whatever goes on around it`() throws {
        let (mail, notes) = (author("mail", 3), author("notes", 4, request: 2))
        try put("a", by: mail)
        let outer = ledger.begin(by: mail)
        try put("b", by: notes)
        try stage("c")
        let inner = ledger.begin(by: .daemon)
        try stage("d")
        _ = ledger.end(inner)
        try stage("e")
        _ = ledger.end(outer)
        try put("f", by: .daemon)
        #expect(billed == ["mail 3": 3, "notes 4": 1, " \(UInt16.max)": 2])
    }

    @Test func `a transaction and an amendment throw their bodies' own error, and take back what was staged`() throws {
        struct Refused: Error, Equatable {}
        #expect(throws: Refused()) {
            _ = try ledger.transaction(by: .daemon) { () throws(Refused) in
                do throws(EngineError) { try stage("a") } catch { preconditionFailure("there is room") }
                throw Refused()
            }
        }
        #expect(throws: Refused()) { try ledger.amend { () throws(Refused) in throw Refused() } }
        #expect(ledger.rev == 0 && ledger.overlay.items == 0)
    }

    @Test func `a transaction that is taken back leaves the one around it to its author`() throws {
        let mail = author("mail", 3)
        let outer = ledger.begin(by: mail)
        #expect(throws: EngineError.duplicate(index: 0)) {
            _ = try ledger.transaction(by: .daemon) { () throws(EngineError) in
                try stage("a")
                throw .duplicate(index: 0)
            }
        }
        try stage("b")
        _ = ledger.end(outer)
        #expect(billed == ["mail 3": 1])
    }

    @Test func `what the daemon does amid a client's requests is none of its requests`() throws {
        try put("a", by: author("mail", request: 1))
        try put("b", by: .daemon)
        try put("c", by: author("mail", request: 2))
        let mail = ledger.bill.untaken.filter { $0.key.writer > 0 }.map(\.tally)
        #expect(mail.map(\.requests) == [2] && mail.map(\.changes) == [2])
        #expect(ledger.bill.batchSizes { $0 > 0 } == [1, 1])
    }

    @Test func `a quota binds the author that has it, and not the daemon`() throws {
        let account = QuotaAccount(bytesLimit: nil, itemsLimit: 1)
        ledger.scopes.assignAccounts { _ in [account] }
        let mail = author("mail", accounts: [account])
        try put("a", by: mail)
        #expect(throws: EngineError.accountFull(limit: 1, of: .items)) { try put("b", by: mail) }
        try put("b", by: .daemon)
        try put("c", by: author("notes"))
        #expect(account.items == 3)
    }

    @Test func `only what takes something away finds room in the reserve, and for itself alone`() throws {
        let (puts, removes) = (author("mail"), author("mail", takesAway: true))
        ledger.room.isRefusingForReserve = true
        #expect(throws: EngineError.noSpace) { try put("a", by: puts) }
        #expect(throws: EngineError.noSpace) { try put("a", by: .daemon) }
        try put("a", by: removes)
        let outer = ledger.begin(by: puts)
        try put("b", by: removes)
        #expect(throws: EngineError.noSpace) { try stage("c") }
        ledger.abandon(outer)
    }

    @Test func `an amendment finds room as the change that it is about, whoever asked for something last`() throws {
        ledger.room.isRefusingForReserve = true
        #expect(throws: EngineError.noSpace) { try ledger.amend { () throws(EngineError) in try stage("audit") } }
        try put("a", by: author("mail", takesAway: true))
        #expect(throws: EngineError.noSpace) { try put("b", by: author("notes")) }
        try ledger.amend { () throws(EngineError) in try stage("audit") }
        #expect(ledger.rev == 1 && ledger.overlay.items == 2)
        #expect(billed["mail 7"] == 1 && billed[" \(UInt16.max)"] == 1)
    }
}
