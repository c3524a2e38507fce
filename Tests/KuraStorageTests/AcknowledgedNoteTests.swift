import Glibc
import Testing

@testable import KuraStorage

@Suite struct AcknowledgedNoteTests {
    private let directory = TemporaryDirectory()
    private var path: String { directory.path + "/acknowledged" }
    private let epoch = "0199a5c8-0000-7000-8000-000000000001"

    @Test func `it says the newest that was written, and nothing when there is none`() throws {
        #expect(try AcknowledgedNote.read(path) == nil)
        do {
            let note = try AcknowledgedNote(path, epoch: epoch, rev: 5)
            #expect(try AcknowledgedNote.read(path) == 5)
            for rev: UInt64 in 6...9 {
                note.write(rev)
                #expect(try AcknowledgedNote.read(path) == rev)
            }
        }
        #expect(try AcknowledgedNote.read(path) == 9)
        _ = try AcknowledgedNote(path, epoch: epoch, rev: 7)
        #expect(try AcknowledgedNote.read(path) == 7)
    }

    @Test func `it has the newest mark of its history, over starts, and none of another`() throws {
        let other = String(epoch.reversed())
        let (one, two) = ([UInt8](repeating: 1, count: 60), [UInt8](repeating: 2, count: 60))
        do {
            let note = try AcknowledgedNote(path, epoch: epoch, rev: 5)
            #expect(AcknowledgedNote.mark(path, of: epoch) == [])
            note.write(6, mark: one)
            #expect(AcknowledgedNote.mark(path, of: epoch) == one)
            note.write(7)
            #expect(AcknowledgedNote.mark(path, of: epoch) == one)
            note.write(8, mark: two)
            #expect(AcknowledgedNote.mark(path, of: epoch) == two && AcknowledgedNote.mark(path, of: other) == [])
            #expect(try AcknowledgedNote.read(path) == 8)
        }
        _ = try AcknowledgedNote(path, epoch: epoch, rev: 8, mark: AcknowledgedNote.mark(path, of: epoch))
        #expect(AcknowledgedNote.mark(path, of: epoch) == two)
        _ = try AcknowledgedNote(path, epoch: other, rev: 8)
        #expect(AcknowledgedNote.mark(path, of: epoch) == [] && AcknowledgedNote.mark(path, of: other) == [])
    }

    @Test func `a slot that is damaged leaves the other, which says less than is true`() throws {
        let note = try AcknowledgedNote(path, epoch: epoch, rev: 5)
        note.write(6)
        note.write(7)
        for offset in 0..<568 {
            try TestDisk.flip(path, at: offset)
            #expect([6, 7].contains(try AcknowledgedNote.read(path)))
            try TestDisk.flip(path, at: offset)
        }
    }
}
