import KuraProtocol
import Testing

@testable import KuraServer

@Suite struct InjectedFaultsTests {
    @Test func `a fault strikes its method's requests, so many times`() throws {
        var faults = InjectedFaults()
        let idAdded = faults.add(.conflict, method: 7, count: 2, at: 0)
        let id = try #require(idAdded)
        #expect(faults.first(.conflict, striking: 8) == nil && faults.first(.overloaded, striking: 7) == nil)
        for left in [2, 1] {
            let fault = try #require(faults.first(.conflict, striking: 7))
            #expect(fault.id == id && fault.left == left)
            faults.strike(fault)
        }
        #expect(faults.first(.conflict, striking: 7) == nil && faults.all.isEmpty)
    }

    @Test func `what strikes requests strikes one, but for slowness, which stays`() throws {
        var faults = InjectedFaults()
        for kind: Method.FaultKind in [.slow, .conflict, .overloaded, .full] { _ = faults.add(kind, at: 0) }
        #expect(faults.all.map(\.left) == [nil, 1, 1, nil])
        let slow = try #require(faults.first(.slow, striking: 3))
        for _ in 0..<5 { faults.strike(slow) }
        #expect(faults.first(.slow, striking: 4) == slow)
    }

    @Test func `the oldest comes first, and a number is given once`() throws {
        var faults = InjectedFaults()
        let firstAdded = faults.add(.overloaded, at: 0)
        let first = try #require(firstAdded)
        let secondAdded = faults.add(.overloaded, at: 0)
        let second = try #require(secondAdded)
        #expect(faults.first(.overloaded, striking: 0)?.id == first)
        let cleared = faults.clear(first, at: 0).map(\.id)
        let clearedAgain = faults.clear(first, at: 0)
        #expect(cleared == [first] && clearedAgain.isEmpty)
        let thirdAdded = faults.add(.overloaded, at: 0)
        let third = try #require(thirdAdded)
        #expect(faults.all.map(\.id) == [second, third] && third != first)
        let clearedAll = faults.clear(nil, at: 0)
        #expect(clearedAll.count == 2 && faults.all.isEmpty)
    }

    @Test func `a full disk and an absence are over when their time is, slowness is not`() {
        var faults = InjectedFaults()
        for kind: Method.FaultKind in [.full, .gone, .slow] { _ = faults.add(kind, milliseconds: 2, at: 1_000_000) }
        faults.expire(at: 2_999_999)
        #expect(faults.all.count == 3)
        faults.expire(at: 3_000_000)
        #expect(faults.all.map(\.kind) == [.slow])
    }

    @Test func `there is an end to them`() {
        var faults = InjectedFaults()
        for _ in 0..<InjectedFaults.most { #expect(faults.add(.full, milliseconds: 1, at: 0) != nil) }
        #expect(faults.add(.full, at: 0) == nil)
        #expect(faults.add(.full, at: 1_000_000) != nil)
    }
}
