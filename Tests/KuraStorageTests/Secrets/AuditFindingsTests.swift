import Testing

@testable import KuraStorage

/// What has been found of the audit, and how far DATA/acknowledged says that it had come.
@Suite struct AuditFindingsTests {
    private let world = KeyWorld()

    @Test func `what was found holds until the secrets are locked or unlocked`() {
        var findings = AuditFindings()
        #expect(!findings.has(.checked, of: 0))
        findings.note(.checked, of: 1)
        let isNew = findings.note(.told, of: 1)
        let isNewAgain = findings.note(.told, of: 1)
        #expect(isNew && !isNewAgain && findings.has(.checked, of: 1) && !findings.has(.broken, of: 1))
        findings.note(.broken, of: 2)
        #expect(findings.has(.broken, of: 2) && !findings.has(.checked, of: 2) && !findings.has(.checked, of: 1))
    }

    @Test func `a mark tells whether more was noted than there is, unless it does not open`() throws {
        let sealer = try AuditSealer(world.keeper().ring)
        let mark = SecretsMark(changes: 7, newestRecord: 3, sealer)
        #expect(mark.tells(moreThan: 7, newestRecord: 3, sealer) == false)
        #expect(mark.tells(moreThan: 6, newestRecord: 3, sealer) == true)
        #expect(mark.tells(moreThan: 7, newestRecord: 2, sealer) == true)
        var altered = mark.sealed
        altered[altered.count - 1] ^= 1
        #expect(SecretsMark(sealed: altered).tells(moreThan: 7, newestRecord: 3, sealer) == nil)
        #expect(SecretsMark().isEmpty && !mark.isEmpty)
    }
}
