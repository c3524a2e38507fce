import KuraStorage
import Testing

@testable import KuraServer

struct RequestContentsTests {
    private final class Content: TableQuery, @unchecked Sendable {
        let number: Int
        init(_ number: Int) { self.number = number }
        var foldedTo: UInt64 { 0 }
        func run(_ tables: TableReader) throws(StoreError) {}
    }

    private func number(_ content: (any TableQuery)?) -> Int? { (content as? Content)?.number }

    @Test func `a request that is begun again finds what it has waited for, in its order`() {
        var contents = RequestContents()
        contents.begin(isAhead: false)
        #expect(contents.next() == nil)
        contents.begin(isAhead: false)
        contents.append(Content(1))
        #expect(contents.next() == nil)
        contents.begin(isAhead: false)
        #expect(number(contents.next()) == 1)
        contents.append(Content(2))
        contents.begin(isAhead: false)
        #expect(number(contents.next()) == 1)
        #expect(number(contents.next()) == 2)
        #expect(contents.next() == nil)
    }

    @Test func `what one request was answered with is not for the next, but for itself when the turn is taken back`() {
        var contents = RequestContents()
        contents.begin(isAhead: false)
        contents.append(Content(1))
        contents.end()
        contents.begin(isAhead: false)
        #expect(contents.next() == nil)
        contents.rewind()
        contents.begin(isAhead: false)
        #expect(number(contents.next()) == 1)
        contents.end()
        contents.commit()
        #expect(contents.isEmpty)
    }

    @Test func `a request that is answered ahead sees nothing of the one that waits, and ends nothing`() {
        var contents = RequestContents()
        contents.begin(isAhead: false)
        contents.append(Content(1))
        contents.begin(isAhead: true)
        #expect(contents.next() == nil)
        #expect(!contents.takesAnswers)
        contents.end()
        contents.commit()
        contents.begin(isAhead: false)
        #expect(number(contents.next()) == 1)
    }

    @Test func `what is not wanted any more makes room for another`() {
        var contents = RequestContents()
        contents.begin(isAhead: false)
        contents.append(Content(1))
        contents.begin(isAhead: false)
        #expect(number(contents.next()) == 1)
        contents.discardLast()
        contents.begin(isAhead: false)
        #expect(contents.next() == nil)
        contents.append(Content(2))
        contents.begin(isAhead: false)
        #expect(number(contents.next()) == 2)
    }
}
