import KuraBytes
import KuraProtocol
import Testing

@testable import KuraServer
@testable import KuraStorage

@Suite struct BegunRequestTests {
    private final class Content: TableQuery, @unchecked Sendable {
        let number: Int
        init(_ number: Int) { self.number = number }
        var foldedTo: UInt64 { 0 }
        func run(_ tables: TableReader) throws(QueryError) {}
    }

    private static let line = Array(#"{"jsonrpc":"2.0","id":"a","method":"storage.ping"}"#.utf8)
    private let reader = RequestReader()

    /// One that waits for an answer, and was marked when the turn began.
    private func waiting() throws -> BegunRequest {
        let begun = BegunRequest()
        try Self.line.withBytes { line in
            _ = try reader.read(line, batchLimit: 0)
            begun.wait(for: .answer(7), reader, next: 0)
        }
        begun.mark()
        return begun
    }

    private func resume(_ begun: BegunRequest) -> Bool { Self.line.withBytes { begun.resume(reader, in: $0) } }
    private func number(_ content: (any TableQuery)?) -> Int? { (content as? Content)?.number }

    @Test func `one that goes on finds the contents that it has waited for, in its order`() throws {
        let begun = try waiting()
        #expect(resume(begun))
        #expect(begun.nextContent() == nil)
        begun.append(Content(1))
        #expect(begun.nextContent() == nil)
        #expect(resume(begun))
        #expect(number(begun.nextContent()) == 1)
        begun.append(Content(2))
        #expect(resume(begun))
        #expect(number(begun.nextContent()) == 1)
        #expect(number(begun.nextContent()) == 2)
        #expect(begun.nextContent() == nil)
    }

    @Test func `a content that is not wanted any more makes room for another`() throws {
        let begun = try waiting()
        begun.append(Content(1))
        #expect(resume(begun))
        #expect(number(begun.nextContent()) == 1)
        begun.discardContent()
        #expect(resume(begun))
        #expect(begun.nextContent() == nil)
        begun.append(Content(2))
        #expect(resume(begun))
        #expect(number(begun.nextContent()) == 2)
    }

    @Test func `one that has not waited yet is read, and one that has is known by its id`() throws {
        #expect(!resume(BegunRequest()))
        let begun = try waiting()
        #expect(Array(#""a""#.utf8).withBytes { begun.isNamed($0) })
        #expect(!Array(#""b""#.utf8).withBytes { begun.isNamed($0) })
        #expect(begun.ticket == 7 && begun.isWaiting)
    }

    @Test func `the end of a transfer is not judged again, but for a deletion that has stopped on its way`() throws {
        let begun = try waiting()
        begun.wake(nil, TransferOutcome(answer: .store(.engine(.cancelled)), deleted: 3))
        #expect(!begun.progress.hasEffect)
        begun.wake(nil, TransferOutcome(answer: .result([])))
        begun.takeBack()
        #expect(begun.progress.hasEffect)
    }

    /// What has come stays when the turn in which it has come is taken back; what the turn has made of it does not.
    @Test func `a turn that is taken back gives the answer back, and the wait that it began with`() throws {
        let begun = try waiting()
        begun.wake(QueryAnswer(ticket: 7, query: Content(1)))
        #expect(!begun.isWaiting)
        begun.progress.answer = nil
        begun.append(Content(1))
        begun.progress.wait = .room
        begun.takeBack()
        #expect(!begun.isWaiting)
        #expect(number(begun.progress.answer?.query) == 1)
        #expect(begun.progress.contents.isEmpty)
        begun.endTurn()
        #expect(number(begun.progress.answer?.query) == 1)
    }
}
