import Glibc
import KuraProtocol
import Testing

@Suite struct SocketPathTests {
    private func path(_ environment: [String: String]) -> String {
        SocketPath.standard { environment[$0] }
    }

    @Test func `what KURA_SOCKET says comes first, unless it is empty`() {
        #expect(path(["KURA_SOCKET": "/a/b.sock", "XDG_RUNTIME_DIR": "/run/user/7"]) == "/a/b.sock")
        #expect(path(["KURA_SOCKET": ""]) == path([:]))
    }

    @Test(.enabled(if: geteuid() == 0, "is for root"))
    func `root's socket is in run, whatever the environment has`() {
        #expect(path([:]) == "/run/kura/kura.sock")
        #expect(path(["XDG_RUNTIME_DIR": "/run/user/7"]) == "/run/kura/kura.sock")
    }

    @Test(.enabled(if: geteuid() != 0, "is for others than root"))
    func `others' is in their runtime directory, else in one that carries their number`() {
        #expect(path(["XDG_RUNTIME_DIR": "/run/user/7"]) == "/run/user/7/kura/kura.sock")
        #expect(path(["XDG_RUNTIME_DIR": "relative"]) == "/tmp/kura-\(geteuid())/kura.sock")
        #expect(path([:]) == "/tmp/kura-\(geteuid())/kura.sock")
    }

    @Test func `the environment is the process's own`() {
        #expect(SocketPath.environment("PATH") == getenv("PATH").map { String(cString: $0) })
        #expect(SocketPath.environment("PATH") != nil && SocketPath.environment("KURA_NO_SUCH_VARIABLE") == nil)
    }
}
