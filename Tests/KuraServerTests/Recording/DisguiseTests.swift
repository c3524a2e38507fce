import KuraBytes
import Testing

@testable import KuraServer

@Suite struct DisguiseTests {
    private func disguised(_ json: String, _ disguise: Disguise) -> String {
        var output = ByteBuffer()
        json.withBytes { disguise.append($0, to: &output) }
        return String(output.bytes)
    }

    @Test func `the same value has the same replacement of its length, and another disguise another one`() throws {
        let (disguise, other) = (try Disguise(), try Disguise())
        for text in ["open sesame", "äöü€", "a longer one, of many words and more than thirty-two bytes of them"] {
            let json = JSON.quoted(text)
            let found = disguised(json, disguise)
            #expect(found.utf8.count == json.utf8.count && found != json)
            #expect(disguised(json, disguise) == found)
            #expect(disguised(json, other) != found)
            #expect(try JSON(found).text?.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) } == true)
        }
        #expect(disguised("\"\"", disguise) == "\"\"")
    }

    @Test func `short texts stay different from one another`() throws {
        let disguise = try Disguise()
        let letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
        #expect(Set(letters.map { disguised("\"\($0)\"", disguise) }).count == letters.count)
        #expect(Set(letters.map { disguised("\"x\($0)\"", disguise) }).count == letters.count)
    }

    @Test func `base64 stays base64`() throws {
        let disguise = try Disguise()
        for count in 4..<40 {
            let text = TestBytes.base64(TestBytes.noise(count, seed: count))
            let found = try #require(try JSON(disguised("\"\(text)\"", disguise)).text)
            var decoded = ByteBuffer()
            #expect(found.withBytes { Base64.decode($0, into: &decoded) }, "\(text): \(found)")
            #expect(decoded.count == count)
        }
    }

    @Test func `members and elements stay where they are, and numbers tell their length alone`() throws {
        let disguise = try Disguise()
        let found = try JSON(disguised("{\"user\":\"ada\",\"list\":[true,null,-12.5e3,\"x y\"]}", disguise))
        #expect(found.members.keys.map(\.count).sorted() == [4, 4])
        let list = try #require(found.members.values.first { !$0.elements.isEmpty })
        #expect(try list[2] == JSON("-11.1e1") && list[0]?.bool == true && list[3]?.text?.count == 3)
        #expect(!"\(found)".contains("ada"))
    }
}
