import Glibc
import KuraStorage
import KuraTransport
import Testing

@testable import KuraServer

@Suite struct PageTicketTests {
    @Test func `a ticket comes back when there is nothing to read for it`() throws {
        let root = try TemporaryDirectory.make("kura-ticket")
        defer { TemporaryDaemon.remove(root) }
        let loop = try EventLoop()
        loop.adoptThread()
        var configuration = StorageConfiguration(dataDirectory: root + "/data", profile: .small)
        configuration.caches.minFreeBytes = 0
        let storage = try Storage(configuration, executor: loop, wake: { loop.wake() }) { _ in }
        try storage.assumeIsolated { storage in
            defer { _ = storage.close() }
            let ticket = storage.warm()
            let deadline = now() + 60
            while !storage.takeWarmed().contains(ticket) {
                try #require(now() < deadline, "the ticket does not come back")
                usleep(1000)
            }
        }
    }
}
