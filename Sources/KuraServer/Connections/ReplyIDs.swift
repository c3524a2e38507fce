import KuraBytes
import KuraProtocol

/// The ids in a line of replies of our own making.
enum ReplyIDs {
    /// What a line that is no reply begins with.
    static let notification: [UInt8] = {
        var text = ByteBuffer()
        text.openObject()
        text.append(.jsonrpc, word: "2.0")
        text.append(name: TextMember.method)
        return Array(text.bytes)
    }()

    /// None for a notification.
    static func read(_ line: Bytes) -> [[UInt8]] {
        if line.starts(with: notification) { return [] }
        let storage = WalkStorage()
        guard line.first == UInt8(ascii: "[") else { return [id(of: line, storage)] }
        var ids: [[UInt8]] = []
        var walk = JSONWalk(line, storage: storage)
        while let element = walk.nextElement() { ids.append(id(of: element, WalkStorage())) }
        return ids
    }

    private static func id(of reply: Bytes, _ storage: WalkStorage) -> [UInt8] {
        var walk = JSONWalk(reply, storage: storage)
        while let (name, value) = walk.nextMember() {
            if name.elementsEqual("id".utf8) { return Array(value) }
        }
        return Array("null".utf8)
    }
}

extension ByteBuffer {
    /// A notification, which is open at its parameters. It begins as `ReplyIDs` knows it.
    mutating func openNotification(_ method: StaticString) {
        openObject()
        append(.jsonrpc, word: "2.0")
        append(.method, word: method)
        openObject(.params)
    }

    /// With its line end.
    mutating func closeNotification() { append("}}\n") }

    /// The beginning of a reply whose result follows.
    mutating func appendResultHead(id: Bytes) {
        appendReplyHead(id: id)
        append(name: .result)
    }
}
