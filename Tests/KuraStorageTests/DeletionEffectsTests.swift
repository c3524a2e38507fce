import KuraBytes
import Testing

@testable import KuraStorage

@Suite struct DeletionEffectsTests {
    private let scope = Scope(id: 1, store: .documents, name: Array("c".utf8))

    @Test func `what goes along has at most 64 MiB of values`() throws {
        var effects = DeletionEffects()
        try effects.noteCascade(scope, [1], bytes: DeletionEffects.byteLimit - 1)
        try effects.noteCascade(scope, [2], bytes: 1)
        #expect(throws: DocumentsError.tooManyDocuments(limit: 5000)) { try effects.noteCascade(scope, [3], bytes: 1) }
        #expect(effects.cascaded == 2)
    }

    @Test func `so has what changes, together with it, and what changes twice counts once`() throws {
        var effects = DeletionEffects()
        try effects.noteCascade(scope, [1], bytes: DeletionEffects.byteLimit - 5)
        for _ in 0..<3 {
            try Array("12345".utf8).lend { (value) throws(DocumentsError) in try effects.noteChange(scope, [2], value) }
        }
        #expect(throws: DocumentsError.tooManyDocuments(limit: 5000)) {
            try Array("1".utf8).lend { (value) throws(DocumentsError) in try effects.noteChange(scope, [3], value) }
        }
        #expect(effects.nullified == 1)
        // It goes after all.
        effects.forgetChange(scope, Bytes("\u{2}"))
        #expect(effects.nullified == 0)
    }

    @Test func `no more than 5,000 documents change and go`() throws {
        var effects = DeletionEffects()
        for number in 0..<2500 {
            let id = [UInt8(number >> 8), UInt8(number & 255)]
            try effects.noteCascade(scope, [1] + id, bytes: 1)
            try id.lend { (value) throws(DocumentsError) in try effects.noteChange(scope, [2] + id, value) }
        }
        #expect(effects.left == 0)
        #expect(throws: DocumentsError.self) { try effects.noteCascade(scope, [3], bytes: 0) }
        #expect(throws: DocumentsError.self) { try effects.noteChange(scope, [3], Bytes()) }
    }
}
