import KuraBytes
import Testing

@testable import KuraStorage

/// The note that something destroyed is still to be overwritten.
@Suite struct ScrubNoteTests {
    private let directory = TemporaryDirectory()

    @Test func `a note tells its revision, is found where it came with the rows, and is gone when all is done`() throws
    {
        let ledger = Ledger(configuration: .tiny(directory.path), scopes: ScopeTable(), rev: 0)
        let note = ScrubNote(ledger)
        #expect(note.owedRev == nil)
        let rev = try ledger.transaction { () throws(EngineError) in try note.stage(isOwed: true) }
        #expect(rev != nil && note.owedRev == rev && ScrubNote(ledger).owedRev == rev)
        try note.stageDone()
        #expect(note.owedRev == nil)
        // What is destroyed in the meantime is of a later revision.
        let later = try ledger.transaction { () throws(EngineError) in try note.stage(isOwed: true) }
        #expect(note.owedRev == later && later != rev)
    }
}
