import Testing

@testable import KuraStorage

/// Room for the audit while the disk is full.
@Suite struct AuditReserveTests {
    private let directory = TemporaryDirectory()

    @Test func `blocks stay until the revision that the log has them with is on the disk`() {
        let configuration = StorageConfiguration.tiny(directory.path)
        let reserve = AuditReserve(configuration)
        reserve.noteInLog(5)
        let isTaken = reserve.append([AuditReserve.Frame(number: 1, row: [1, 2, 3])])
        #expect(isTaken)
        reserve.head = AuditHead()
        reserve.noteInLog(7)
        reserve.noteSynced(6)
        #expect(reserve.head == nil && reserve.frames.count == 1)
        #expect(AuditReserve(configuration).frames.map(\.row) == [[1, 2, 3]])
        reserve.noteSynced(7)
        #expect(reserve.frames.isEmpty && AuditReserve(configuration).frames.isEmpty)
    }
}
