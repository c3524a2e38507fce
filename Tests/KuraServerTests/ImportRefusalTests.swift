import KuraProtocol
import KuraStorage
import Testing

@testable import KuraServer

/// What an import is told when the store takes no more of it.
@Suite struct ImportRefusalTests {
    @Test func `no room is no fault of the tables`() {
        for error in [EngineError.noSpace, .tooLargeForRoom(items: nil), .tooLargeForRoom(items: 3)] {
            #expect(ImportWork.refusal(.store(.engine(error))).kind == .noSpace)
        }
    }

    @Test func `attachments beyond the limit say which it is`() {
        let error = ImportWork.refusal(.store(.attachmentsFull(limit: 256, of: .items)))
        #expect(error.kind == .quotaExceeded && error.limit == 256)
    }
}
