import KuraProtocol
import Testing

@testable import KuraServer

/// Which transfers are taken on.
@Suite struct TransferAdmissionTests {
    private func admission(_ limit: Int) throws -> TransferAdmission {
        TransferAdmission(limit: limit, beneath: try ImportRoots([], dataDirectory: "/nowhere"))
    }

    @Test func `so many run at once, and the next when one is over`() throws {
        var admission = try admission(3)
        for _ in 0..<3 {
            #expect(admission.refusal(held: nil)?.kind == nil)
            admission.begin()
        }
        #expect(admission.refusal(held: nil)?.limit == 3)
        admission.end()
        #expect(admission.refusal(held: nil)?.kind == nil && admission.count == 2)
        admission.end(2)
        #expect(admission.count == 0)
    }

    @Test func `a user who has many leaves the last ones to others`() throws {
        var admission = try admission(16)
        for _ in 0..<15 { admission.begin() }
        #expect(admission.refusal(held: 15)?.kind == .overloaded)
        #expect(admission.refusal(held: 0)?.kind == nil)
        #expect(admission.refusal(held: nil)?.kind == nil)
        admission.begin()
        #expect(admission.refusal(held: 0)?.kind == .overloaded)
    }
}
