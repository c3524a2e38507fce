import KuraClient
import Synchronization
import Testing

@Suite struct DocumentQueryTests {
    private static let cards: [Card] = (0..<40).map { number in
        Card(
            "c\(number)", deck: ["fr", "ja", "Zz"][number % 3], due: number * 7 % 40, isDone: number % 4 == 0,
            note: number % 5 == 0 ? nil : "note \(number % 6)",
            tags: number % 2 == 0 ? ["even", "n\(number % 10)"] : [])
    }

    private func expect(
        _ cards: DocumentCollection<Card>, _ where: (Fields<Card>) -> Condition<Card>, is swift: (Card) -> Bool,
        location: SourceLocation = #_sourceLocation
    ) async throws {
        let found = try await cards.find(`where`, sort: { [$0.id.ascending] }).all().map(\.id)
        let expected = Self.cards.filter(swift).map(\.id).sorted()
        #expect(found == expected, sourceLocation: location)
        #expect(!expected.isEmpty, "the case tells nothing", sourceLocation: location)
    }

    @Test(arguments: Server.allCases) func `a condition finds what the same expression finds in Swift`(server: Server)
        async throws
    {
        let daemon = try await FaceDaemon(server)
        let kura = try await daemon.client()
        let cards = kura.documents("cards", of: Card.self)
        try await cards.putMany(Self.cards)
        try await expect(cards, { $0.due < 5 }, is: { $0.due < 5 })
        try await expect(cards, { $0.due <= 5 }, is: { $0.due <= 5 })
        try await expect(cards, { $0.due > 30 && $0.deck == "fr" }, is: { $0.due > 30 && $0.deck == "fr" })
        try await expect(cards, { $0.due >= 38 || $0.isDone == true }, is: { $0.due >= 38 || $0.isDone })
        try await expect(cards, { !($0.due >= 3 && $0.deck != "ja") }, is: { !($0.due >= 3 && $0.deck != "ja") })
        try await expect(cards, { !$0.isDone && $0.due < 9 }, is: { !$0.isDone && $0.due < 9 })
        try await expect(cards, { $0.due < 9 && $0.isDone }, is: { $0.due < 9 && $0.isDone })
        try await expect(cards, { $0.isDone || $0.due == 7 }, is: { $0.isDone || $0.due == 7 })
        try await expect(cards, { $0.due == 7 || $0.isDone }, is: { $0.due == 7 || $0.isDone })
        try await expect(cards, { $0.isDone && $0.due > 20 }, is: { $0.isDone && $0.due > 20 })
        try await expect(cards, { $0.isDone && $0.isDone }, is: { $0.isDone })
        try await expect(cards, { !($0.isDone || $0.isDone) }, is: { !$0.isDone })
        try await expect(cards, { $0.note == nil }, is: { $0.note == nil })
        try await expect(cards, { $0.note != nil }, is: { $0.note != nil })
        try await expect(cards, { $0.note != "note 1" }, is: { $0.note != "note 1" })
        try await expect(
            cards, { !($0.note == "note 1" || $0.due < 20) }, is: { !($0.note == "note 1" || $0.due < 20) })
        try await expect(cards, { $0.note < "note 2" }, is: { $0.note.map { $0 < "note 2" } ?? false })
        try await expect(cards, { !($0.note > "note 2") }, is: { $0.note.map { $0 <= "note 2" } ?? true })
        try await expect(cards, { $0.tags.contains("n4") }, is: { $0.tags.contains("n4") })
        try await expect(cards, { !$0.tags.contains("even") }, is: { !$0.tags.contains("even") })
        try await expect(cards, { $0.deck.isIn(["fr", "Zz"]) }, is: { ["fr", "Zz"].contains($0.deck) })
        try await expect(cards, { $0.note.isIn([nil, "note 3"]) }, is: { [nil, "note 3"].contains($0.note) })
        try await expect(cards, { $0.id.beginsWith("c1") }, is: { $0.id.hasPrefix("c1") })
        try await expect(
            cards, { $0.note.matches("[45]$") },
            is: { $0.note?.hasSuffix("4") == true || $0.note?.hasSuffix("5") == true })
        try await expect(cards, { $0.id == "c3" || $0.id > "c8" }, is: { $0.id == "c3" || $0.id > "c8" })
        try await expect(
            cards, { Condition(selector: #"{"due":{"$mod":[2,1]}}"#) && $0.deck == "ja" },
            is: { $0.due % 2 == 1 && $0.deck == "ja" })
        #expect(try await cards.find { _ in .nothing }.all().isEmpty)
        await kura.close()
    }

    @Test(arguments: Server.allCases) func `fields are found behind several that may be nil`(server: Server)
        async throws
    {
        struct Point: Codable, Sendable { var lat: Double, name: String? }
        struct Place: Codable, Sendable { var point: Point?, sure: Point }
        struct Visit: Codable, Identifiable, Sendable { var id: Int, place: Place? }
        let daemon = try await FaceDaemon(server)
        let kura = try await daemon.client()
        let visits = kura.documents("visits", of: Visit.self)
        let (north, south) = (Point(lat: 48, name: "north"), Point(lat: -33, name: nil))
        let all = [
            Visit(id: 0, place: nil), Visit(id: 1, place: Place(point: nil, sure: north)),
            Visit(id: 2, place: Place(point: north, sure: south)),
            Visit(id: 3, place: Place(point: south, sure: south)),
        ]
        try await visits.putMany(all)
        func expect(
            _ found: (Fields<Visit>) -> Condition<Visit>, is swift: (Visit) -> Bool,
            location: SourceLocation = #_sourceLocation
        ) async throws {
            let expected = all.filter(swift).map(\.id)
            let found = try await visits.find(found, sort: { [$0.id.ascending] }).values().map(\.id)
            #expect(found == expected && !expected.isEmpty, sourceLocation: location)
        }
        try await expect({ $0.place.point.lat == 48 }, is: { $0.place?.point?.lat == 48 })
        try await expect({ $0.place.point.lat < 0 }, is: { $0.place?.point.map { $0.lat < 0 } ?? false })
        try await expect({ $0.place.point.lat == nil }, is: { $0.place?.point?.lat == nil })
        try await expect({ $0.place.point.name == nil }, is: { $0.place?.point?.name == nil })
        try await expect({ $0.place.point.name.beginsWith("no") }, is: { $0.place?.point?.name == "north" })
        try await expect({ $0.place.sure.lat == 48 }, is: { $0.place?.sure.lat == 48 })
        try await expect({ $0.place.sure.name != "north" }, is: { $0.place?.sure.name != "north" })
        let sorted = visits.find({ $0.place.point.lat != nil }, sort: { [$0.place.point.lat.ascending] })
        #expect(try await sorted.values().map(\.id) == [3, 2])
        await kura.close()
    }

    @Test(arguments: Server.allCases) func `order, limits and pages`(server: Server) async throws {
        let daemon = try await FaceDaemon(server)
        let kura = try await daemon.client()
        let cards = kura.documents("cards", of: Card.self)
        try await cards.putMany(Self.cards)
        let sorted = try await cards.find(sort: { [$0.deck.descending, $0.due.ascending] }).pageSize(7).all()
        #expect(sorted.map(\.id) == Self.cards.sorted { ($1.deck, $0.due) < ($0.deck, $1.due) }.map(\.id))
        var ids: [String] = []
        for try await card in cards.find(sort: { [$0.due.descending] }).pageSize(3).limit(8) { ids.append(card.id) }
        #expect(ids == Self.cards.sorted { $0.due > $1.due }.prefix(8).map(\.id))
        #expect(try await cards.find(sort: { [$0.due.descending] }).first()?.due == 39)
        #expect(try await cards.find().limit(0).all().isEmpty)
        var pages: [Int] = []
        var cursor: String?
        for try await page in cards.find({ $0.isDone == false }).pageSize(12).pages {
            pages.append(page.documents.count)
            if pages.count == 1 { cursor = page.cursor }
        }
        #expect(pages.reduce(0, +) == 30 && pages[0] == 12)
        let rest = try await cards.find { $0.isDone == false }.pageSize(12).after(cursor).all()
        #expect(rest.count == 18, "a kept cursor goes on behind its page")
        #expect(try await cards.list(pageSize: 9).all().map(\.id) == Self.cards.map(\.id).sorted())
        await kura.close()
    }

    @Test(arguments: Server.allCases) func `a field that is none throws when the query is made, and says what to write`(
        server: Server
    ) async throws {
        let daemon = try await FaceDaemon(server)
        let kura = try await daemon.client()
        let all = kura.documents("all", of: Everything.self)
        await #expect(throws: KuraError.self) { try await all.find { $0.isFree == true }.all() }
        await #expect(throws: KuraError.self) { try await all.find(sort: { [$0.half.ascending] }).first() }
        #expect(try await all.find { _ in Field(#"\$price"#, \.isFree) == true }.all().isEmpty)
        await kura.close()
    }

    @Test func `who allows a scan says so in each request`() async throws {
        let fake = try FakeDaemon { _, connection in
            guard connection.hello() else { return }
            while let line = connection.line() {
                let result = #"{"documents":[],"rev":1,"count":0,"deleted":0}"#
                connection.send(#"{"jsonrpc":"2.0","id":\#(FakeDaemon.Connection.id(of: line)),"result":\#(result)}"#)
            }
        }
        let kura = try await Kura.connect(to: fake.path, options: .init(timeout: .seconds(120)))
        let cards = kura.documents("cards", of: Card.self)
        let some = cards.find { $0.due < 3 }
        _ = try await (some.all(), some.count(), cards.deleteMany { $0.due < 3 })
        _ = try await (some.allowingScan().all(), some.allowingScan().count())
        _ = try await cards.deleteMany(allowingScan: true) { $0.due < 3 }
        await kura.close()
        let requests = fake.lines.withLock { $0 }.map(\.line).filter { $0.contains("documents.") }
        #expect(requests.map { $0.contains(#""allowScan":true"#) } == [false, false, false, true, true, true])
    }
}
