import KuraBytes
import Testing

@testable import KuraStorage

@Suite struct SegmentContentsTests {
    private var contents = SegmentContents(synced: 3)
    private static let first = SegmentFormat.firstRow

    @Test mutating func `rows that are written say what the segment has`() {
        #expect(contents.end == Self.first && contents.firstRev == 0 && contents.greatestSynced == 3)
        contents.append(previous: 4, rev: 6, at: 100, synced: 2, bytes: 50)
        contents.append(previous: 6, rev: 7, at: 200, synced: 6, bytes: 60)
        #expect(contents.previousRev == 4 && contents.firstRev == 6 && contents.lastRev == 7)
        #expect(contents.end == Self.first + 110 && contents.lastAt == 200 && contents.greatestSynced == 6)
        contents.cut(to: Self.first + 50, lastRev: 6)
        #expect(contents.end == Self.first + 50 && contents.lastRev == 6)
    }

    @Test mutating func `reading on begins at a row that is not far in front`() {
        for rev in 1...100 as ClosedRange<UInt64> {
            contents.append(previous: rev - 1, rev: rev, at: 0, synced: 0, bytes: 10_000)
        }
        let place = contents.place(after: 60)
        #expect(place.after <= 60 && place.after > 30)
        #expect(place.offset == Self.first + Int(place.after) * 10_000)
        #expect(contents.place(after: 0).after == 0 && contents.place(after: 0).offset == Self.first)
    }

    @Test mutating func `reading through tells which revisions are whole, and what is damaged`() {
        [UInt8]().withBytes { none in
            contents.note(SegmentRow(previous: 0, rev: 2, at: 0, synced: 1, records: none), from: 600, to: 700)
            contents.note(SegmentRow(previous: 5, rev: 6, at: 0, synced: 5, records: none), from: 800, to: 900)
        }
        #expect(
            contents.present.contains(1...2) && !contents.present.contains(3...6) && contents.present.contains(6...6))
        #expect(contents.end == 900 && contents.lastRev == 6 && contents.greatestSynced == 5)
    }
}
