import KuraBytes
import KuraStorage
import Testing

@testable import KuraServer

/// What the audit is told of one request.
@Suite struct RequestAuditTests {
    /// Holds the secret that a request is about, whose parameters name `s`, `a` and `g`, against its service, account and group.
    private func expect(_ audit: borrowing RequestAudit, isAbout wanted: [String]) {
        let name = audit.secret(given: SecretName(service: Bytes("s"), account: Bytes("a"), group: Bytes("g")))
        let parts = [name.service, name.account, name.group].map { String(decoding: $0, as: UTF8.self) }
        #expect(parts == wanted)
    }

    @Test func `a request is about what its parameters name, until its handler says otherwise`() {
        var audit = RequestAudit()
        expect(audit, isAbout: ["s", "a", "g"])
        audit.isAbout(SecretName(service: Bytes("service"), account: Bytes("account"), group: Bytes("group")))
        expect(audit, isAbout: ["service", "account", "group"])
        audit.isAbout(SecretName(service: Bytes("x"), account: Bytes("")))
        expect(audit, isAbout: ["x", "", ""])
    }

    @Test func `the next request has none of it`() {
        var audit = RequestAudit()
        audit.isAbout(SecretName(service: Bytes("service"), account: Bytes("account")))
        audit.noted()
        audit.awaitsLog()
        let before = (audit.isNoted, audit.isAwaited)
        #expect(before == (true, true))
        audit.begin()
        let after = (audit.isNoted, audit.isAwaited)
        #expect(after == (false, false))
        expect(audit, isAbout: ["s", "a", "g"])
    }

    @Test func `what is kept belongs to the audit and not to the line`() {
        var audit = RequestAudit()
        Array("service".utf8).withBytes { audit.isAbout(SecretName(service: $0, account: Bytes("a"))) }
        expect(audit, isAbout: ["service", "a", ""])
    }
}
