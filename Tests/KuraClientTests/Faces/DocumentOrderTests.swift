import Foundation
import Testing

@testable import KuraClient

/// Conditions and orders that the daemon has to be asked for with care.
@Suite struct DocumentOrderTests {
    private struct Expense: Codable, Identifiable, Sendable {
        struct Place: Codable, Sendable, Comparable {
            var x: Int
            static func < (left: Place, right: Place) -> Bool { left.x < right.x }
        }
        var id: Int
        var price: Decimal
        var refund: Decimal?
        var place: Place
        var day: Date
        var length: Duration
        var text: String
        var tags: [String] = []
    }

    private func expense(_ id: Int, _ price: Decimal) -> Expense {
        Expense(
            id: id, price: price, place: .init(x: id), day: Date(timeIntervalSince1970: Double(id * 1000)),
            length: .seconds(id), text: "text \(id)")
    }

    @Test(arguments: Server.allCases) func `nothing is ordered by what is stored as an object, and nothing is deleted`(
        server: Server
    ) async throws {
        let daemon = try await FaceDaemon(server)
        let kura = try await daemon.client()
        let expenses = kura.documents("expenses", of: Expense.self)
        // Ordered as objects, 12 comes before 5.
        try await expenses.putMany([expense(1, 12), expense(2, 3.5), expense(3, 100)])
        let conditions: [(Fields<Expense>) -> Condition<Expense>] = [
            { $0.price < 5 }, { $0.price <= 5 }, { $0.price > 5 }, { $0.price >= 5 }, { $0.refund < 5 },
            { $0.id > 0 && !($0.refund >= 5) }, { $0.place < .init(x: 2) },
        ]
        for condition in conditions {
            let error = await #expect(throws: KuraError.self) { try await expenses.deleteMany(where: condition) }
            #expect(error?.kind == .invalidParams && error?.message.contains("stored as an object") == true)
            await #expect(throws: KuraError.self) { try await expenses.find(condition).all() }
        }
        let orders: [(Fields<Expense>) -> [SortKey<Expense>]] = [
            { [$0.price.ascending] }, { [$0.day.ascending, $0.refund.descending] }, { [$0.place.descending] },
            { _ in [Field("price", \Expense.price).ascending] },
        ]
        for order in orders {
            let error = await #expect(throws: KuraError.self) { try await expenses.find(sort: order).all() }
            #expect(error?.message.contains("no order") == true)
            #expect(throws: KuraError.self) { try expenses.live(sort: order) }
        }
        #expect(try await expenses.count() == 3)
        // What is a number, a text or an array has its order.
        let day = Date(timeIntervalSince1970: 2500)
        #expect(try await expenses.find({ $0.day < day }, sort: { [$0.day.descending] }).all().map(\.id) == [2, 1])
        let short = expenses.find({ $0.length < .seconds(3) }, sort: { [$0.length.descending] })
        #expect(try await short.all().map(\.id) == [2, 1])
        #expect(try await expenses.find(sort: { [$0.place.x.descending] }).first()?.id == 3)
        #expect(try await expenses.find { $0.price == 3.5 }.all().map(\.id) == [2])
        await kura.close()
    }

    private struct Numbered: Codable, Identifiable, Sendable {
        var id: Int
        var group: Int
    }

    private struct Measured: Codable, Identifiable, Sendable {
        var id: Double
    }

    @Test func `a number that is the id is looked up, however many documents there are`() async throws {
        let daemon = try await FaceDaemon(.inMemory)
        let kura = try await daemon.client()
        let (few, many) = (
            kura.documents("few", of: Numbered.self), kura.documents("many", of: Numbered.self)
        )
        try await few.putMany((-5..<5).map { Numbered(id: $0, group: $0 % 2) })
        for start in [0, 6000] {
            try await many.putMany((start..<start + 6000).map { Numbered(id: $0, group: $0 % 7) })
        }
        #expect(try await few.find { $0.id == -3 }.all().map(\.id) == [-3])
        #expect(try await few.count { $0.id != -3 } == 9)
        #expect(try await few.find({ $0.id < -3 }, sort: { [$0.id.ascending] }).all().map(\.id) == [-5, -4])
        #expect(
            try await few.find({ $0.id.isIn([4, -4, 77]) }, sort: { [$0.id.ascending] }).all().map(\.id) == [-4, 4])
        #expect(try await many.find { $0.id == 7 }.all().map(\.id) == [7])
        #expect(try await many.find { $0.id == 11_999 && $0.group == 1 }.all().map(\.id) == [11_999])
        #expect(try await many.count { $0.id == 12_000 } == 0)
        #expect(try await many.exists(7))
        #expect(try await !many.exists(12_000))
        let some = try await many.find { $0.id.isIn([9000, 3]) }.all().map(\.id)
        #expect(some.sorted() == [3, 9000])
        #expect(try await many.count { $0.id.isIn([]) } == 0)
        #expect(try await many.find { $0.id != 7 }.allowingScan().count() == 11_999)
        let scanned = await #expect(throws: KuraError.self) { try await many.count { $0.group == 1 } }
        #expect(scanned?.kind == .indexNeeded)
        // 0 and -0 are one number, and two texts.
        let measured = kura.documents("measured", of: Measured.self)
        try await measured.put(Measured(id: -0.0))
        #expect(try await measured.count { $0.id == 0.0 } == 1)
        #expect(try await measured.count { $0.id.isIn([0.0, 2]) } == 1)
        await kura.close()
    }

    @Test func `errors say what to do in Swift's words`() async throws {
        let daemon = try await FaceDaemon(.inMemory)
        let kura = try await daemon.client()
        let expenses = kura.documents("expenses", of: Expense.self)
        let counts: [(Fields<Expense>) -> Condition<Expense>] = [
            { $0.text.count == 3 }, { $0.text.isEmpty == true }, { $0.tags.count > 1 }, { $0.tags.isEmpty == false },
        ]
        for condition in counts {
            let error = await #expect(throws: KuraError.self) { try await expenses.count(condition) }
            let text = "\(try #require(error))"
            #expect(!text.contains("0x") && text.contains("no query can ask for"), "\(text)")
            #expect(text.contains("text of Expense") || text.contains("tags of Expense"))
        }
        let computed = await #expect(throws: KuraError.self) { try await expenses.count { $0.price.isZero == true } }
        #expect(computed?.message.contains("0x") == false && computed?.message.contains("computed property") == true)
        for kind in [KuraError.Kind.indexNeeded, .uploadNotFound, .invalidParams] {
            let error = KuraError(
                answer: Array(#"{"message":"m","data":{"kind":"\#(kind.rawValue)"}}"#.utf8), method: nil)
            #expect(error.kind == kind)
            for word in ["allowScan", "leaseSeconds", "table", "Configure"] { #expect(!error.advice.contains(word)) }
        }
        #expect(KuraError(.indexNeeded, "").advice.contains("allowingScan()"))
        await kura.close()
    }
}
