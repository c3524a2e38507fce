import KuraBytes
import SQLite
import Testing

@testable import KuraStorage

@Suite struct BillTests {
    private static func group(_ client: String, _ operation: String, _ store: BilledStore) -> BillInterval.Group {
        BillInterval.Group(client: Array(client.utf8), user: 7, operation: operation, store: store)
    }

    private static func interval(at start: Int64, log: Int, caches: Int = 0, changes: Int = 1) -> BillInterval {
        var interval = BillInterval(startedAt: start, seconds: 60)
        interval[.log, .wal].bytes = log - log / 2
        interval[.log, .room].bytes = log / 2
        interval[.log, .wal].syncs = 3
        interval[.cache, .content].bytes = caches
        interval[.other, .content].renames = 2
        interval.noOpWrites = 2
        interval.groups[group("mail", "settings.put", .settings)] = WriteTally(
            changes: changes, bytes: 100 * changes, requests: 1, noOps: 1)
        interval[.log, .wal].blockBytes = 8192
        return interval
    }

    @Test func `what is written is shared out by what was asked for, and nothing is left over`() {
        var interval = Self.interval(at: 0, log: 1_000_000, caches: 5000)
        interval.groups[Self.group("notes", "documents.put", .documents)] = WriteTally(changes: 3, bytes: 300)
        #expect(interval.upkeepBytes == 500_000 + 5000, "no cache was asked for anything")
        // Nor by somebody who changed nothing there.
        interval.groups[Self.group("idle", "models.put", .models)] = WriteTally(noOps: 7)
        #expect(interval.upkeepBytes == 500_000 + 5000)
        interval.groups[Self.group("notes", "models.put", .models)] = WriteTally(changes: 1, bytes: 1)
        #expect(interval.upkeepBytes == 500_000)
        let shares = interval.groups.map { interval.share(of: $1, $0.store) }
        #expect(shares.sorted() == [0, 5000, 125_000, 375_000])
    }

    @Test func `of the log everybody pays what their seconds have cost, and the rest by what was asked for`() {
        var interval = Self.interval(at: 0, log: 0, changes: 1)
        interval[.log, .wal].bytes = 900_000
        interval[.durable, .wal].bytes = 100_000
        let (mail, notes) = (Self.group("mail", "settings.put", .settings), Self.group("notes", "x", .documents))
        interval.groups[mail] = WriteTally(changes: 100, bytes: 400, requests: 100, logBytes: 800_000)
        interval.groups[notes] = WriteTally(changes: 1, bytes: 99_904, requests: 1, logBytes: 100_000)
        func share(_ group: BillInterval.Group) -> Int { interval.share(of: interval.groups[group]!, group.store) }
        // The tables' part by weight: 10,000 of 110,000, and 100,000.
        #expect(share(mail) == 800_000 + 9_090 && share(notes) == 100_000 + 90_909)
        #expect(interval.share(byWeightOf: interval.groups[mail]!, .settings) == 90_909)
        var hour = BillInterval(startedAt: 0)
        for _ in 0..<2 { hour.add(interval) }
        #expect(hour.share(of: hour.groups[mail]!, .settings) == 2 * 800_000 + 18_181)
    }

    @Test func `the log is shared out among those who have written since the last look`() {
        func key(_ writer: UInt16, _ store: BilledStore = .settings) -> WriteBill.Key {
            WriteBill.Key(writer: writer, operation: 0, store: store)
        }
        let (one, many) = (WriteTally(changes: 1, bytes: 4), WriteTally(changes: 1, bytes: 304))
        var (two, more) = (one, many)
        two += one
        more += one
        var shares = LogShares(bytes: 1000)
        shares.look(bytes: 9000, [(key(1), one), (key(9, .models), many)])
        #expect(shares.parts == [key(1): 8000], "caches have no log")
        // A hundred bytes' weight and four hundred's.
        shares.look(bytes: 14_000, [(key(1), two), (key(2), many)])
        #expect(shares.parts == [key(1): 9000, key(2): 4000])
        // What comes late is nobody's here.
        shares.look(bytes: 20_000, [(key(1), two), (key(2), many)])
        shares.look(bytes: 21_000, [(key(1), two), (key(2), more)])
        #expect(shares.parts == [key(1): 9000, key(2): 5000])
        // A change that was taken back.
        shares.look(bytes: 22_000, [(key(1), one), (key(2), more)])
        #expect(shares.parts == [key(1): 9000, key(2): 5000])
    }

    @Test func `minutes, hours and days are kept as long as they are said to be`() throws {
        var history = BillHistory()
        for minute in 0..<Int64(60 * 24 * 100) { history.add(Self.interval(at: minute * 60, log: 10), at: minute * 60) }
        for grain in BillHistory.Grain.allCases { #expect(history.intervals[grain]?.count == grain.limit) }
        let day = try #require(history.intervals[.day]?.last)
        #expect(day.startedAt / 86_400 == 99)
        #expect(day.seconds == 86_400)
        #expect(day.total.bytes == 14_400)
        let hours: [Int64] = history.since(2397 * 3600, .hour).map { $0.startedAt / 3600 }
        #expect(hours == [2397, 2398, 2399])
        // A clock that has been put back makes no second interval of the same time.
        history.add(Self.interval(at: 0, log: 1), at: 5)
        #expect(history.intervals[.day]?.count == 90)
        #expect(history.intervals[.day]?.last?.total.bytes == 14_401)
    }

    @Test func `an interval keeps the groups that count, and the sum of the rest`() {
        var interval = BillInterval(startedAt: 0)
        for number in 1...500 {
            interval.groups[Self.group("c\(number)", "settings.put", .settings)] = WriteTally(changes: 1, bytes: number)
        }
        interval.bound()
        #expect(interval.groups.count <= BillInterval.groupLimit)
        #expect(interval.asked == WriteTally(changes: 500, bytes: 500 * 501 / 2))
        #expect(interval.groups[Self.group("c500", "settings.put", .settings)]?.bytes == 500)
        #expect(interval.groups[Self.group("c1", "settings.put", .settings)] == nil)
    }

    @Test func `a history is read as it was written, and one that was altered is none`() throws {
        var history = BillHistory()
        for hour in 0..<Int64(5) {
            var interval = Self.interval(at: hour * 3600, log: 100 + Int(hour))
            interval.groups[Self.group("mail", "settings.put", .settings)]!.logBytes = 40
            history.add(interval, at: hour * 3600)
        }
        let written = Self.report()
        let forgiven = ForgivenWrites(.client(Array("mail".utf8)), on: 20_000, bytes: 7, spent: 9)
        let bytes = history.encoded(with: [written], [forgiven])
        var reports: [WriteReport] = []
        var others: [ForgivenWrites] = []
        let read = try #require(BillHistory(bytes, &reports, &others))
        #expect(reports == [written] && others == [forgiven])
        for grain in [BillHistory.Grain.hour, .day] {
            let (mine, its) = (history.intervals[grain] ?? [], read.intervals[grain] ?? [])
            #expect(mine.count == its.count && mine.count > 0)
            for (mine, its) in zip(mine, its) {
                #expect(mine.startedAt == its.startedAt && mine.seconds == its.seconds)
                #expect(mine.files == its.files && mine.groups == its.groups)
                #expect(mine.noOpWrites == its.noOpWrites)
            }
        }
        // What the version before has left is read as well.
        var older: [WriteReport] = []
        let known = try #require(BillHistory(EarlierBill.file, &older, &others))
        let hour = try #require(known.intervals[.hour]?.first)
        #expect(known.intervals[.hour]?.count == 1 && known.intervals[.day]?.count == 1 && older.isEmpty)
        #expect(hour.groups.keys.map { String(decoding: $0.client, as: UTF8.self) } == ["earlier/1"])
        #expect(hour.asked == WriteTally(changes: 3, bytes: 9, requests: 3))
        #expect(hour.total.bytes > 100_000 && hour.total.blockBytes == 0)
        for place in bytes.indices {
            var altered = bytes
            altered[place] ^= 0x10
            #expect(BillHistory(altered) == nil, "byte \(place)")
        }
        for length in 0..<bytes.count { #expect(BillHistory(Array(bytes.prefix(length))) == nil, "\(length) bytes") }
    }

    @Test func `names that are written most are found among very many`() {
        var most = HeavyHitters()
        var random = SystemRandomNumberGenerator()
        for number in 0..<20_000 {
            let key = number % 4 == 0 ? "hot" : "k\(UInt32.random(in: 0...UInt32.max, using: &random))"
            with("scope", key) { most.note(.settings, $0, $1, WriteTally(changes: 1, bytes: 10)) }
        }
        let first = most.top(1)
        #expect(first.map { String(decoding: $0.key, as: UTF8.self) } == ["hot"])
        #expect((5000...5400).contains(first[0].tally.changes), "\(first[0].tally)")
        #expect(first[0].latest == first[0].tally)
        most.beginInterval()
        with("scope", "hot") { most.note(.settings, $0, $1, WriteTally(changes: 3, bytes: 30), by: 2) }
        #expect(most.top(1).map(\.latest) == [WriteTally(changes: 3, bytes: 30)])
        #expect(most.top(1).map(\.writer) == [2])
        // Names stay with their counts when others fade away.
        let before = most.entries.filter { $0.tally.changes > 1 }
            .map { "\($0.key) \($0.scope) \($0.tally.changes / 2)" }
        most.fade()
        #expect(most.entries.map { "\($0.key) \($0.scope) \($0.tally.changes)" } == before)
        for _ in 0..<20 { most.fade() }
        #expect(most.top(9).isEmpty)
    }

    @Test func `short names that differ are counted apart, whatever their lengths are`() {
        var (keys, scopes) = (HeavyHitters(), HeavyHitters())
        let names = ["1", "21", "311", "1111", "01111", "301111", "10005", "200005", "1231", "2231231"]
        for (number, name) in names.enumerated() {
            let tally = WriteTally(changes: number + 1, bytes: 10)
            with("scope", name) { keys.note(.documents, $0, $1, tally) }
            with(name) { scopes.note(.documents, $0, Bytes(), tally) }
        }
        #expect(keys.entries.map { String(decoding: $0.key, as: UTF8.self) } == names)
        #expect(keys.entries.map(\.tally.changes) == Array(1...names.count))
        #expect(scopes.entries.map { String(decoding: $0.scope, as: UTF8.self) } == names)
    }

    @Test func `what is taken back is on no bill, and its request neither`() {
        let bill = WriteBill()
        var payer = WriteBill.Payer(
            writer: bill.number(of: Array("mail".utf8), user: 1), operation: 3, request: 1)
        func put(_ count: Int) -> [WriteBill.Entry] {
            payer.request += 1
            return (0..<count).map { _ in
                with("s", "k") { bill.note(.settings, scope: $0, key: $1, bytes: 10, by: payer) }
            }
        }
        _ = put(2)
        for entry in put(3).reversed() { bill.takeBack(entry) }
        bill.noteNoOp(.settings, by: payer)
        #expect(bill.untaken.map(\.tally) == [WriteTally(changes: 2, bytes: 20, requests: 1, noOps: 1)])
        _ = put(5)
        #expect(bill.batchSizes { $0 == 1 } == [2, 5])
        #expect(bill.take().count == 1)
        #expect(bill.untaken.isEmpty)
    }

    @Test func `a request that is taken back and goes on is one request, and the daemon's own changes are no batch`() {
        let bill = WriteBill()
        let payer = WriteBill.Payer(
            writer: bill.number(of: Array("mail".utf8), user: 1), operation: 3, request: 1)
        func put(by payer: WriteBill.Payer) -> WriteBill.Entry {
            with("s", "k") { bill.note(.settings, scope: $0, key: $1, bytes: 10, by: payer) }
        }
        bill.takeBack(put(by: payer))
        _ = put(by: payer)
        _ = put(by: payer)
        #expect(bill.untaken.map(\.tally) == [WriteTally(changes: 2, bytes: 20, requests: 1, noOps: 0)])
        for _ in 0..<3 { _ = put(by: Author.daemon.payer) }
        #expect(bill.batchSizes { _ in true } == [2])
    }

    private static func report() -> WriteReport {
        var report = WriteReport(id: 7, WriteBudget(.client(Array("mail".utf8)), bytesPerDay: 4096), at: 12_345)
        report.days = 2
        (report.bytes, report.totalBytes) = (5000, 9000)
        report.clients = [WriteReport.Part(name: Array("mail/1".utf8), changes: 3, bytes: 5000)]
        report.methods = [WriteReport.Part(name: Array("settings.put".utf8), changes: 3, bytes: 5000)]
        report.keys = [WriteReport.Key(store: .settings, scope: Array("s".utf8), key: Array("k".utf8), changes: 3)]
        report.batchSizes = [1, 1, 500]
        return report
    }

    @Test func `programs are told apart, as many as there is room for`() {
        let bill = WriteBill()
        let numbers = (0..<1000).map { bill.number(of: Array("client \($0)".utf8), user: 1) }
        #expect(Set(numbers.prefix(WriteBill.writerLimit)).count == WriteBill.writerLimit)
        #expect(Set(numbers.dropFirst(WriteBill.writerLimit)) == [0])
        #expect(bill.number(of: Array("client 3".utf8), user: 1) == numbers[3])
        #expect(bill.number(of: Array("client 3".utf8), user: 2) == 0)
    }
}
