import KuraBytes
import Testing

@testable import KuraStorage

struct AttachmentListTests {
    private func digest(_ byte: UInt8) -> ContentDigest { ContentDigest([UInt8](repeating: byte, count: 32)) }

    private func attachment(_ name: String, _ type: String = "", bytes: Int = 1, _ byte: UInt8 = 0xAB)
        -> KuraStorage.Attachment
    {
        KuraStorage.Attachment(
            name: Array(name.utf8), contentType: Array(type.utf8), bytes: bytes, digest: digest(byte))
    }

    private func text(_ list: AttachmentList) -> [UInt8] {
        var output = ByteBuffer()
        list.append(to: &output)
        return Array(output.bytes)
    }

    @Test func `a list is read as it was written, whatever its names`() {
        var list = AttachmentList()
        let odd = ["b", "a", "\"quoted\"", "back\\slash", "é/日本", "😀", " "]
        for (number, name) in odd.enumerated() {
            list.put(attachment(name, number == 0 ? "text/\"x\"" : "", bytes: number))
        }
        let again = text(list).withBytes { AttachmentList($0) }
        #expect(again.attachments == list.attachments)
        #expect(list.attachments.map(\.name) == odd.map { Array($0.utf8) }.sorted { $0.lexicographicallyPrecedes($1) })
        #expect(again.totalBytes == 21)
        #expect(text(list).withBytes { AttachmentList.totalBytes($0) } == 21)
    }

    @Test func `one of the same name takes the other's place`() {
        var list = AttachmentList()
        list.put(attachment("a", bytes: 1))
        list.put(attachment("b", bytes: 2))
        list.put(attachment("a", bytes: 5, 0xCD))
        #expect(list.attachments.map(\.bytes) == [5, 2])
        #expect("a".withBytes { list.find($0)?.digest } == digest(0xCD))
        let removals = ["a", "a", "c"].map { name in name.withBytes { list.remove($0) } }
        #expect(removals == [true, false, false])
        #expect(String(decoding: text(list), as: UTF8.self).hasPrefix(#"[{"name":"b","bytes":2,"digest":"abab"#))
    }

    @Test func `the list of none says so`() {
        #expect(String(decoding: text(AttachmentList()), as: UTF8.self) == "[]")
        #expect(Array("[]".utf8).withBytes { AttachmentList($0).attachments }.isEmpty)
    }

    @Test func `digests are 64 hexadecimal digits`() {
        #expect(digest(0x0F).text == String(repeating: "0f", count: 32))
        for bad in ["", "0f", String(repeating: "0F", count: 32), String(repeating: "g", count: 64)] {
            #expect(bad.withBytes { ContentDigest(digits: $0) } == nil)
        }
        #expect(String(repeating: "0f", count: 32).withBytes { ContentDigest(digits: $0) } == digest(0x0F))
        #expect(AttachmentFiles.digest(ofMarker: "content-" + digest(1).text) == digest(1))
        #expect(AttachmentFiles.digest(ofMarker: "copy-1") == nil)
    }
}
