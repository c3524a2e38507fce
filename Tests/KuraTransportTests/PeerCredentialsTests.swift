import Glibc
import Testing

@testable import KuraTransport

@Suite struct PeerCredentialsTests {
    @Test func `the kernel tells who is at the other end`() {
        let pair = Pair()
        let peer = PeerCredentials(of: pair.left)
        #expect(peer?.uid == getuid() && peer?.gid == getgid())
        #expect(PeerCredentials(of: -1) == nil)
    }
}
