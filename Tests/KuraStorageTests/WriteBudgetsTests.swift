import KuraBytes
import SQLite
import Testing

@testable import KuraStorage

@Suite struct WriteBudgetsTests {
    private static let day: Int64 = 86_400
    private static let start: Int64 = 20_000 * day

    /// A minute in which mail and notes have had so many bytes written.
    private static func minute(mail: Int, notes: Int = 0) -> BillInterval {
        var interval = BillInterval(startedAt: start, seconds: 60)
        interval[.log, .wal].bytes = mail + notes
        for (name, operation, bytes) in [("mail/2", "settings.put", mail), ("notes", "documents.put", notes)]
        where bytes > 0 {
            let group = BillInterval.Group(
                client: Array(name.utf8), user: 1, operation: operation,
                store: operation == "settings.put" ? .settings : .documents)
            interval.groups[group] = WriteTally(changes: bytes, bytes: 0, requests: bytes)
        }
        return interval
    }

    private static let mail = WriteBudget(.client(Array("mail".utf8)), bytesPerDay: 1000, throttles: true)
    private static let documents = WriteBudget(.store(.documents), bytesPerDay: 1000)

    private static func budgets(_ list: [WriteBudget]) -> WriteBudgets {
        var budgets = WriteBudgets()
        budgets.set(list, BillHistory(), at: start)
        return budgets
    }

    @Test func `an excess opens one report, which tells who and how much of all`() throws {
        var budgets = Self.budgets([Self.mail, Self.documents])
        let bill = WriteBill()
        budgets.add(Self.minute(mail: 600, notes: 600), at: Self.start + 60)
        budgets.add(Self.minute(mail: 300), at: Self.start + 61)
        #expect(budgets.judge(bill, at: (Self.start + 61) * 1000).isEmpty)
        #expect(budgets.states.map(\.spent) == [900, 600])
        budgets.add(Self.minute(mail: 300), at: Self.start + 62)
        let opened = budgets.judge(bill, at: (Self.start + 62) * 1000)
        #expect(opened.count == 1)
        let report = try #require(budgets.reports.first)
        #expect(report.target == .client(Array("mail".utf8)))
        #expect(report.bytes == 1200 && report.totalBytes == 1800 && report.days == 1)
        #expect(report.clients.map(\.name) == [Array("mail/2".utf8)])
        #expect(report.methods.map(\.bytes) == [1200])
        #expect(budgets.states.map(\.isThrottled) == [true, false])
        // It grows, and is opened once.
        budgets.add(Self.minute(mail: 300), at: Self.start + 63)
        #expect(budgets.judge(bill, at: (Self.start + 63) * 1000).isEmpty)
        #expect(budgets.reports.map(\.bytes) == [1500])
    }

    @Test func `a day begins with nothing, and a report counts the days`() {
        var budgets = Self.budgets([Self.mail])
        let bill = WriteBill()
        func write(_ bytes: Int, at seconds: Int64) {
            budgets.add(Self.minute(mail: bytes), at: Self.start + seconds)
            _ = budgets.judge(bill, at: (Self.start + seconds) * 1000)
        }
        write(2000, at: 60)
        write(2000, at: 120)
        write(10, at: Self.day + 60)
        #expect(budgets.states.map(\.spent) == [10])
        #expect(budgets.throttled.isEmpty)
        #expect(budgets.reports.map(\.days) == [1], "open until somebody resolves it")
        write(3000, at: Self.day + 120)
        #expect(budgets.reports.map(\.days) == [2])
        #expect(budgets.reports.map(\.bytes) == [3010])
    }

    @Test func `what is resolved is forgiven, and opened again by as much once more`() {
        var budgets = Self.budgets([Self.mail])
        let bill = WriteBill()
        func judge(_ bytes: Int) -> [WriteReport] {
            budgets.add(Self.minute(mail: bytes), at: Self.start + 60)
            return budgets.judge(bill, at: (Self.start + 60) * 1000)
        }
        #expect(judge(1001).map(\.id) == [1])
        #expect(budgets.resolve(2) == 0)
        #expect(budgets.resolve(1) == 1)
        #expect(budgets.reports.isEmpty && budgets.throttled.isEmpty)
        #expect(judge(1000).isEmpty)
        #expect(judge(1).map(\.id) == [2])
        #expect(budgets.resolve(nil) == 1)
    }

    @Test func `what was forgiven is on the same day also after a restart, whatever the history says`() {
        var budgets = Self.budgets([Self.mail])
        let bill = WriteBill()
        budgets.add(Self.minute(mail: 1500), at: Self.start + 60)
        #expect(budgets.judge(bill, at: (Self.start + 60) * 1000).count == 1)
        #expect(budgets.resolve(nil) == 1)
        budgets.add(Self.minute(mail: 900), at: Self.start + 61)
        // Shared out by the hour it was more, or less, or nothing that has come through.
        for known in [0, 500, 4000] {
            var history = BillHistory()
            history.add(Self.minute(mail: known), at: Self.start + 61)
            func restarted(at seconds: Int64) -> WriteBudgets {
                var next = WriteBudgets(reports: budgets.reports, forgiven: budgets.forgiven)
                next.set([Self.mail], history, at: seconds)
                return next
            }
            var next = restarted(at: Self.start + 100)
            #expect(next.states.map(\.spent) == [2400])
            #expect(next.throttled.isEmpty && next.judge(bill, at: (Self.start + 100) * 1000).isEmpty)
            next.add(Self.minute(mail: 100), at: Self.start + 101)
            #expect(next.judge(bill, at: (Self.start + 101) * 1000).isEmpty)
            #expect(next.forgiven.map(\.spent) == [2500], "and after one more")
            next.add(Self.minute(mail: 1), at: Self.start + 102)
            #expect(next.judge(bill, at: (Self.start + 102) * 1000).map(\.id) == [1])
            #expect(restarted(at: Self.start + Self.day).states.map(\.spent) == [0], "the day is over")
        }
        #expect(WriteBudgets(forgiven: budgets.forgiven).forgiven == budgets.forgiven, "before budgets are read")
    }

    @Test func `budgets that are set anew know what was written today`() {
        var history = BillHistory()
        history.add(Self.minute(mail: 700), at: Self.start - 60)
        history.add(Self.minute(mail: 700), at: Self.start + 60)
        history.add(Self.minute(mail: 500), at: Self.start + 7200)
        var budgets = WriteBudgets()
        budgets.set([Self.mail], history, at: Self.start + 7300)
        #expect(budgets.states.map(\.spent) == [1200], "yesterday is over")
        #expect(budgets.states.map(\.isThrottled) == [true])
    }

    @Test func `a client's budget is for all of its versions, and for no other client`() {
        let any = WriteBudget.Target.client(Array("mail".utf8))
        let second = WriteBudget.Target.client(Array("mail/2".utf8))
        for (name, isAny, isSecond) in [
            ("mail", true, false), ("mail/2", true, true), ("mail/21", true, false), ("mailer", false, false),
            ("", false, false), ("email/2", false, false),
        ] {
            #expect(any.concerns(client: Array(name.utf8)) == isAny, "\(name)")
            #expect(second.concerns(client: Array(name.utf8)) == isSecond, "\(name)")
        }
    }
}

@Suite struct AdviceBookTests {
    private static func interval(_ tally: WriteTally, log: Int) -> BillInterval {
        var interval = BillInterval(startedAt: 0, seconds: 60)
        interval[.log, .wal].bytes = log
        let group = BillInterval.Group(
            client: Array("mail".utf8), user: 1, operation: "settings.put", store: .settings)
        interval.groups[group] = tally
        return interval
    }

    private static func kinds(_ tally: WriteTally, log: Int) -> [WriteAdvice.Kind] {
        var book = AdviceBook()
        book.look(at: interval(tally, log: log), HeavyHitters(), [])
        return book.list(now: 0).map(\.kind)
    }

    @Test func `changes one by one are noticed where a batch would halve them, and nowhere else`() {
        let single = WriteTally(changes: 100, bytes: 400, requests: 100)
        let weight = 400 + 100 * 96
        #expect(Self.kinds(single, log: 2 * weight) == [.oneByOne])
        #expect(Self.kinds(single, log: 2 * weight - 1) == [], "others' changes shared the cost")
        #expect(
            Self.kinds(WriteTally(changes: 99, bytes: 400, requests: 99), log: 1 << 20) == [], "so few are no matter")
        #expect(
            Self.kinds(WriteTally(changes: 200, bytes: 400, requests: 100), log: 1 << 20) == [], "these are batches")
        var book = AdviceBook()
        book.look(at: Self.interval(single, log: 3 * weight), HeavyHitters(), [])
        #expect(book.list(now: 0).map(\.cost) == [2 * weight])
    }

    @Test func `the same value again and again is noticed, and a key that is rewritten all the time`() {
        #expect(Self.kinds(WriteTally(noOps: 100), log: 0) == [.sameValue])
        #expect(Self.kinds(WriteTally(noOps: 99), log: 0) == [])
        for (changes, isNoticed) in [(100, true), (99, false)] {
            var keys = HeavyHitters()
            with("app", "position") { keys.note(.settings, $0, $1, WriteTally(changes: changes, bytes: changes)) }
            var book = AdviceBook()
            let writers = [WriteBill.Writer(name: Array("mail".utf8), user: 1)]
            let interval = Self.interval(WriteTally(changes: changes, bytes: changes), log: 100_000)
            book.look(at: interval, keys, writers)
            #expect(book.list(now: 0).map(\.kind) == (isNoticed ? [.rewrittenKey] : []))
            if isNoticed { #expect(book.list(now: 0).map(\.cost) == [99_000], "one of the hundred would have done") }
            // The next minute is another one.
            keys.beginInterval()
            var next = AdviceBook()
            next.look(at: interval, keys, writers)
            #expect(next.list(now: 0).isEmpty)
        }
    }

    @Test func `scans and blobs that do not last are told when they add up, and forgotten after a day`() {
        var book = AdviceBook()
        for number in 1...10 {
            book.noteScan(Array("notes".utf8), documents: 1000, remedy: "an index", at: 5)
            book.noteShortLife(Array("icons".utf8), client: [], bytes: 50, isFile: number == 1, at: 5)
            #expect(book.list(now: 6).count == (number < 10 ? 0 : 2))
        }
        let found = book.list(now: 6)
        #expect(found.map(\.kind) == [.scan, .shortLivedBlob])
        #expect(found.map(\.cost) == [10_000, 10 * 50 + 24_576])
        #expect(book.list(now: 86_400_005).isEmpty)
    }

    @Test func `it keeps so many of a kind, those seen last`() {
        var book = AdviceBook()
        for number in 0..<100 {
            book.noteScan(Array("\(number)".utf8), documents: 20_000, remedy: "", at: Int64(number))
        }
        let scopes = Set(book.list(now: 100).map { String(decoding: $0.scope, as: UTF8.self) })
        #expect(scopes == Set((68..<100).map(String.init)))
    }
}
