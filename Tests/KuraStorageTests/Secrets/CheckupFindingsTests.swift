import KuraBytes
import Testing

@testable import KuraStorage

@Suite struct CheckupFindingsTests {
    private func note(
        _ damage: SecretDamage.What, _ service: String, _ account: String, _ findings: inout CheckupFindings
    ) {
        let (service, account) = (Array(service.utf8), Array(account.utf8))
        service.withBytes { service in
            account.withBytes { account in
                findings.note(SecretDamage(what: damage), SecretName(service: service, account: account))
            }
        }
    }

    @Test func `a service that is looked at anew takes back what had been found of it, and of it alone`() throws {
        var findings = CheckupFindings()
        findings.begin()
        findings.count(versions: 2, otherHostKey: 1)
        note(.version, "mail", "me", &findings)
        findings.begin()
        findings.count(versions: 3, otherHostKey: 3)
        note(.item, "chat", "you", &findings)
        findings.takeBack()
        let counts = [findings.items, findings.versions, findings.otherHostKey, findings.damageCount]
        #expect(counts == [1, 2, 1, 1])
        note(.sum, "news", "", &findings)
        let damages = findings.damages
        #expect(damages.count == 2)
        var names: [String] = []
        for damage in damages {
            names.append("\(findings.service(of: damage).text)/\(findings.account(of: damage).text)")
        }
        #expect(names == ["mail/me", "news/"])
    }

    @Test func `damages are counted beyond those that are kept`() {
        var findings = CheckupFindings()
        for _ in 0..<CheckupFindings.mostDamages + 5 { findings.note(SecretDamage(what: .item)) }
        let (count, kept) = (findings.damageCount, findings.damages.count)
        #expect(count == CheckupFindings.mostDamages + 5)
        #expect(kept == CheckupFindings.mostDamages)
    }

    @Test func `a look at a service is begun anew when the service has another revision`() {
        var look = ServiceLook()
        #expect(!look.isOf(0))
        look.begin(7, hasRecord: true)
        look.add(SetSum())
        look.cursor = [1]
        #expect(look.isOf(7))
        #expect(!look.isOf(8))
        look.begin(8, hasRecord: false)
        #expect(look.count == 0)
        #expect(look.cursor.isEmpty)
        #expect(!look.hasRecord)
        look.end()
        // What it came to is asked for afterwards.
        #expect(!look.isOf(8))
        #expect(look.startedRev == 8)
    }
}
