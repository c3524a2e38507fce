import Testing

@testable import KuraStorage

@Suite struct RevisionsTests {
    @Test func `the disk covers what lies at or below it`() {
        let synced: SyncedRev = 5
        #expect(synced.covers(0) && synced.covers(5) && !synced.covers(6) && !synced.covers(.never))
        #expect(synced.has(0) && synced.has(5) && !synced.has(6))
        #expect(SyncedRev.everything.covers(.never) && SyncedRev.everything.has(.max))
    }

    @Test func `strict transactions reach up to the newest of them`() {
        let strict: StrictRev = 5
        #expect(strict.reaches(0) && strict.reaches(5) && !strict.reaches(6))
        #expect(StrictRev(4) < strict && strict < .never && SyncedRev(4) < 5)
    }
}
