import KuraBytes
import KuraSocket
import KuraStorage
import KuraTransport
import Testing

@testable import KuraServer

@Suite struct TransferTableTests {
    /// Never run: the test hands its batches over itself.
    private func transfer(_ token: UInt64 = 1, batches: Int = 0) throws -> Transfer {
        let configuration = StorageConfiguration(dataDirectory: "/none", profile: .small)
        let work = ImportWork(
            Array("c".utf8), from: TransferEnd(path: "/none", beneath: try ImportRoots([], dataDirectory: "/none")),
            ImportWork.Options(), configuration)
        let transfer = Transfer(
            token: token, id: [0x31], hasID: true, ticket: nil, work: work, channel: try TransferChannel(wake: {}),
            use: UserUse(uid: 1), method: 0, since: 0)
        for _ in 0..<batches { try hand(transfer) }
        return transfer
    }

    private func hand(_ transfer: Transfer) throws {
        let batch = ImportBatch()
        Array("i".utf8).withBytes { batch.append(id: $0, value: $0, isNewID: false) }
        let work = try #require(transfer.work as? ImportWork)
        try transfer.channel.hand(batch, from: work)
    }

    @Test func `tickets are never given twice`() throws {
        var table = TransferTable()
        #expect(table.nextTicket() == 1)
        table.insert(try transfer())
        #expect(table.nextTicket() == 2)
    }

    @Test func `those that have something for the turn come by turns, one a turn`() throws {
        var table = TransferTable()
        let idle = try transfer(1)
        let (first, second) = (try transfer(2, batches: 2), try transfer(3, batches: 2))
        for transfer in [idle, first, second] { table.insert(transfer) }
        var order: [UInt64] = []
        for rev: UInt64 in 1...4 {
            #expect(table.hasOffer)
            let taken = table.takeOffer()
            let transfer = try #require(taken?.transfer)
            order.append(transfer.token)
            table.stage(transfer, rev: rev)
            table.judgeStaged(isStored: true)
        }
        #expect(order == [2, 3, 2, 3])
        #expect(!table.hasOffer)
        #expect(table.takeOffer()?.transfer.token == nil)
        #expect(first.channel.stored.documents == 2 && first.channel.stored.rev == 3)
        #expect(second.channel.stored.documents == 2 && second.channel.stored.rev == 4)
    }

    @Test func `one that leaves keeps no other from its turn`() throws {
        var table = TransferTable()
        let transfers = try (1...3).map { try transfer($0, batches: 2) }
        for transfer in transfers { table.insert(transfer) }
        #expect(table.takeOffer()?.transfer.token == 2)
        #expect(table.takeOffer()?.transfer.token == 3)
        table.remove(transfers[2])
        #expect(table.count == 2)
        #expect(table.takeOffer()?.transfer.token == 2)
        #expect(table.takeOffer()?.transfer.token == 1)
        for transfer in transfers { table.remove(transfer) }
        #expect(table.isEmpty)
        #expect(table.takeOffer()?.transfer.token == nil)
    }

    @Test func `what was in the turn is judged once, and stays its transfer's when there was no room`() throws {
        var table = TransferTable()
        let transfer = try transfer(batches: 2)
        table.insert(transfer)
        let offer = table.takeOffer()
        let taken = try #require(offer?.transfer)
        // It could not be stored yet: nothing of it is in the turn.
        table.judgeStaged(isStored: true)
        #expect(transfer.channel.stored.documents == 0)
        table.stage(taken, rev: 7)
        table.judgeStaged(isStored: true)
        table.judgeStaged(isStored: true)
        #expect(transfer.channel.stored.documents == 1)
        table.stage(taken, rev: 8)
        table.judgeStaged(isStored: false)
        #expect(transfer.channel.stored.documents == 1 && transfer.channel.stored.rev == 7)
        #expect(!table.hasOffer, "it ends")
    }

    @Test func `a connection that is gone takes its own transfers with it`() throws {
        var table = TransferTable()
        let (own, other) = (try transfer(1), try transfer(2))
        for transfer in [own, other] { table.insert(transfer) }
        table.cancel(of: 1)
        #expect(own.channel.interruption.isInterrupted && !other.channel.interruption.isInterrupted)
        table.cancelAll()
        #expect(other.channel.interruption.isInterrupted)
    }
}
