import KuraClient
import Testing

/// Documents, queries and changes that are out of the ordinary.
@Suite struct DocumentEdgesTests {
    /// What has a member by default that its document may lack, and members with names that a JSON pointer has to escape.
    private struct Odd: Codable, Identifiable, Sendable, Equatable {
        enum CodingKeys: String, CodingKey { case id, note, slash = "a/b", tilde = "a~1b" }
        var id: String
        var note: String?
        var slash = 0
        var tilde = 0

        init(id: String) { self.id = id }

        init(from decoder: any Decoder) throws {
            let members = try decoder.container(keyedBy: CodingKeys.self)
            id = try members.decode(String.self, forKey: .id)
            note = try members.decodeIfPresent(String.self, forKey: .note) ?? "usual"
            slash = try members.decodeIfPresent(Int.self, forKey: .slash) ?? 0
            tilde = try members.decodeIfPresent(Int.self, forKey: .tilde) ?? 0
        }
    }

    @Test func `members are changed and taken away whatever they are called, also where there are none`() async throws {
        let daemon = try await FaceDaemon(.inMemory)
        let kura = try await daemon.client()
        let odds = kura.documents("odds", of: Odd.self)
        let plain = #"{"collection":"odds","id":"a","value":{"id":"a","other":true}}"#
        _ = try await kura.call("documents.put", json: Array(plain.utf8))
        try await odds.mutate("a") {
            $0.note = nil
            $0.slash = 1
            $0.tilde = 2
        }
        let there = try await kura.call("documents.get", json: Array(#"{"collection":"odds","id":"a"}"#.utf8)).result
        let text = String(decoding: there, as: UTF8.self)
        for member in [#""a/b":1"#, #""a~1b":2"#, #""other":true"#] { #expect(text.contains(member), "\(text)") }
        #expect(!text.contains("note"))
        await kura.close()
    }

    @Test func `what is no object is changed whole, and not written when it is as it was`() async throws {
        struct Word: Codable, Identifiable, Sendable {
            var text: String
            var id: String { String(text.prefix(1)) }
            init(_ text: String) { self.text = text }
            init(from decoder: any Decoder) throws { text = try decoder.singleValueContainer().decode(String.self) }
            func encode(to encoder: any Encoder) throws {
                var container = encoder.singleValueContainer()
                try container.encode(text)
            }
        }
        let daemon = try await FaceDaemon(.inMemory)
        let kura = try await daemon.client()
        let words = kura.documents("words", of: Word.self)
        let rev = try await words.put(Word("neko"))
        try await words.put(Word("inu"))
        #expect(try await words.mutate("n") { $0.text = "neko" }?.rev == rev)
        #expect(try await words.stored("n")?.rev == rev)
        try await words.mutate("n") { $0.text = "nezumi" }
        #expect(try await words.get("n")?.text == "nezumi")
        await kura.close()
    }

    @Test func `what has another id within is not read`() async throws {
        let daemon = try await FaceDaemon(.inMemory)
        let kura = try await daemon.client()
        let cards = kura.documents("cards", of: OldCard.self)
        let other = #"{"collection":"cards","id":"a","value":{"id":"b","deck":"fr"}}"#
        _ = try await kura.call("documents.put", json: Array(other.utf8))
        let error = await #expect(throws: KuraError.self) { try await cards.get("a") }
        #expect(error?.kind == .wrongType && error?.message.contains("id b within") == true)
        #expect(try await cards.exists("a"), "it is there all the same")
        await kura.close()
    }

    @Test func `limits and sizes that cannot be are the nearest that can`() async throws {
        let daemon = try await FaceDaemon(.inMemory)
        let kura = try await daemon.client()
        let cards = kura.documents("cards", of: Card.self)
        try await cards.putMany((0..<5).map { Card("\($0)") })
        #expect(try await cards.list().limit(-3).all().isEmpty)
        #expect(try await cards.list().pageSize(0).all().count == 5)
        #expect(try await cards.list().pageSize(1_000_000).all().count == 5)
        var pages = cards.list().pageSize(2).pages.makeAsyncIterator()
        let cursor = try await pages.next()?.cursor
        #expect(try await cards.list().after(cursor).all().map(\.id) == ["2", "3", "4"])
        await kura.close()
    }

    @Test func `an empty page is not the end, and what is gone in a step is a conflict`() async throws {
        let fake = try FakeDaemon { _, connection in
            guard connection.hello() else { return }
            while let line = connection.line() {
                if line.contains("transaction.apply") {
                    connection.send(FakeDaemon.error(line, "notFound", #","operation":1"#))
                } else if line.contains("behind") {
                    let row = #"{"id":"a","rev":1,"value":{"id":"a","deck":"fr"}}"#
                    connection.send(FakeDaemon.reply(line, #"{"documents":[\#(row)],"rev":1}"#))
                } else {
                    connection.send(FakeDaemon.reply(line, #"{"documents":[],"rev":1,"cursor":"behind"}"#))
                }
            }
        }
        let kura = try await Kura.connect(to: fake.path, options: .init(timeout: .seconds(120)))
        let cards = kura.documents("cards", of: OldCard.self)
        #expect(try await cards.find({ $0.deck == "fr" }).values() == [OldCard(id: "a", deck: "fr")])
        var found: [String] = []
        for try await card in cards.find({ $0.deck == "fr" }) { found.append(card.id) }
        #expect(found == ["a"])
        #expect(try await kura.apply { $0.delete("a", in: cards) } == .conflict(operation: 1, currentRev: 0))
        await kura.close()
    }

    @Test func `a patch of what is gone is no error: it is read again`() async throws {
        let fake = try FakeDaemon { _, connection in
            guard connection.hello() else { return }
            var gets = 0
            while let line = connection.line() {
                if line.contains("documents.get") {
                    gets += 1
                    let there = #"{"rev":1,"value":{"id":"a","deck":"fr"}}"#
                    connection.send(FakeDaemon.reply(line, gets == 1 ? there : #"{"rev":0}"#))
                } else {
                    connection.send(FakeDaemon.error(line, "notFound"))
                }
            }
        }
        let kura = try await Kura.connect(to: fake.path, options: .init(timeout: .seconds(120)))
        let cards = kura.documents("cards", of: OldCard.self)
        #expect(try await cards.mutate("a") { $0.deck = "ja" } == nil)
        #expect(fake.lines(with: "documents.patch").count == 1)
        await kura.close()
    }

    @Test func `a list of which a page leads to itself ends with an error, and not never`() async throws {
        let fake = try FakeDaemon { _, connection in
            guard connection.hello() else { return }
            let lists = [
                ("settings.list", #""values":{}"#), ("secrets.list", #""items":[]"#), ("blobs.list", #""blobs":[]"#),
                ("documents.", #""documents":[]"#),
            ]
            while let line = connection.line() {
                let members = lists.first { line.contains($0.0) }?.1 ?? ""
                connection.send(FakeDaemon.reply(line, "{\(members),\"rev\":1,\"cursor\":\"again\"}"))
            }
        }
        let kura = try await Kura.connect(to: fake.path, options: .init(timeout: .seconds(120)))
        let cards = kura.documents("cards", of: OldCard.self)
        #expect(await kind { _ = try await kura.settings["app"].list() } == .badReply)
        #expect(await kind { _ = try await kura.secrets["mail"].list() } == .badReply)
        #expect(await kind { for try await _ in kura.blobs["n"].list() {} } == .badReply)
        #expect(await kind { _ = try await cards.list().all() } == .badReply)
        #expect(await kind { _ = try await cards.find().all() } == .badReply)
        #expect(fake.lines(with: ".list").count == 8 && fake.lines(with: ".find").count == 2)
        await kura.close()
    }

    @Test func `a page of more documents than were asked for ends a query all the same`() async throws {
        let fake = try FakeDaemon { _, connection in
            guard connection.hello() else { return }
            var pages = 0
            while let line = connection.line() {
                pages += 1
                let rows = ["a", "b"].map { #"{"id":"\#($0)","rev":1,"value":{"id":"\#($0)","deck":"fr"}}"# }
                connection.send(
                    FakeDaemon.reply(
                        line, #"{"documents":[\#(rows.joined(separator: ","))],"rev":1,"cursor":"\#(pages)"}"#))
            }
        }
        let kura = try await Kura.connect(to: fake.path, options: .init(timeout: .seconds(120)))
        let cards = kura.documents("cards", of: OldCard.self)
        #expect(try await cards.list().limit(1).all().count == 2)
        #expect(fake.lines(with: "documents.list").count == 1)
        await kura.close()
    }

    @Test func `indexes that are there are not configured again`() async throws {
        let fake = try FakeDaemon { _, connection in
            guard connection.hello() else { return }
            while let line = connection.line() {
                let index = #"{"name":"byDeck","fields":["deck"],"unique":false,"state":"ready","entries":1,"bytes":9}"#
                connection.send(FakeDaemon.reply(line, #"{"indexes":[\#(index)],"rev":1}"#))
            }
        }
        let kura = try await Kura.connect(to: fake.path, options: .init(timeout: .seconds(120)))
        let cards = kura.documents("cards", of: OldCard.self)
        #expect(try await cards.addIndexes([.init("byDeck", on: { [$0.deck] })]).map(\.state) == [.ready])
        #expect(fake.lines(with: "documents.describe").count == 1 && fake.lines(with: "documents.configure").isEmpty)
        await kura.close()
    }
}
