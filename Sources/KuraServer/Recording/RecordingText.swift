import Glibc
import KuraBytes
import KuraProtocol
import KuraSocket
import Sodium

// Safety: the kernel fills one `stat`, which is ours.

/// The text of a recording: lines of JSON, as proto-docs/storage.md has them ("Recording"). Belongs to the recording's thread.
final class RecordingText {
    private var request: RecordedRequest
    private var text = ByteBuffer()
    private var head = 0
    /// Requests whose replies have not come, by connection and id.
    private var open: [UInt32: [[UInt8]: [RecordedRequest.Call]]] = [:]
    private var openCount = 0
    private var requests: UInt64 = 0
    private var replies: UInt64 = 0
    private var dropped: UInt64 = 0
    private var bytes: UInt64 = 0
    private var lastMoment: UInt64 = 0

    /// Requests that may be without a reply; the replies to what comes beyond are not written.
    private static let openLimit = 1 << 16

    /// - Parameters:
    ///   - table: the methods.
    ///   - batchLimit: members that a batch may have.
    ///   - version: the daemon's.
    ///   - startedAt: milliseconds since 1970.
    ///   - rev: the newest revision then.
    /// - Throws: that there is no key to replace secrets with.
    init(_ table: MethodTable, batchLimit: Int, version: String, startedAt: Int64, rev: UInt64) throws(SodiumError) {
        request = try RecordedRequest(table, batchLimit: batchLimit)
        text.openObject()
        text.append(.recording, UInt64(Recording.format))
        text.append(.version, version)
        text.append(.startedAt, startedAt)
        text.append(.rev, rev)
        text.openList(.leftOut)
        for word in ["secrets", "contents of descriptors", "notifications", "what came before"] {
            text.append(element: word)
        }
        text.closeList()
        end()
    }

    // MARK: What is to be written

    /// Good until it is changed.
    var pending: Bytes { text.bytes(head..<text.count) }

    /// So many bytes of it are.
    func written(_ count: Int) {
        head += count
        bytes += UInt64(count)
        guard head == text.count else { return }
        if text.capacity > 1 << 20 { text.releaseMemory() } else { text.removeAll() }
        head = 0
    }

    var footprint: Int { text.capacity }

    /// The members of the answer.
    func appendCounts(to out: inout ByteBuffer) {
        out.append(.requests, requests)
        out.append(.replies, replies)
        out.append(.dropped, dropped)
        out.append(.bytes, bytes)
    }

    // MARK: Lines

    func append(_ entry: TrafficQueue.Entry, _ bytes: Bytes, _ descriptor: PassedDescriptor?) {
        switch entry.kind {
        case .opened:
            begin(entry)
            text.append(.role, bytes)
            end()
        case .request:
            begin(entry)
            text.append(name: AnyMember.request)
            request.append(bytes, to: &text)
            end()
            requests += UInt64(request.calls.count)
            for call in request.calls { expect(call, entry.connection) }
        case .replies:
            var position = 0
            while let end = bytes.firstIndex(of: 0x0A, from: position) {
                append(reply: bytes.extracting(position..<end), entry)
                position = end + 1
            }
        case .descriptor:
            begin(entry)
            append(descriptor)
            end()
        case .closed:
            openCount -= open.removeValue(forKey: entry.connection)?.values.reduce(0) { $0 + $1.count } ?? 0
            begin(entry)
            text.append(FlagMember.closed, true)
            end()
        }
    }

    /// So many requests and replies would have stood here.
    func append(dropped count: UInt64) {
        dropped += count
        text.openObject()
        text.append(.atMicroseconds, lastMoment)
        text.append(.dropped, count)
        end()
    }

    /// What is there to be told and finds no room.
    func drop(_ entry: TrafficQueue.Entry, _ bytes: Bytes) {
        switch entry.kind {
        case .request: dropped += 1
        case .replies: dropped += UInt64(bytes.count(where: { $0 == 0x0A }))
        case .opened, .descriptor, .closed: break
        }
    }

    /// What is pending will not be written: its requests and replies are left out.
    func abandonPending() {
        let pending = text.bytes
        // Of the first line a part may be in the file; it is no line there.
        var start = pending[..<head].lastIndex(of: 0x0A).map { $0 + 1 } ?? 0
        while let end = pending.firstIndex(of: 0x0A, from: start) {
            // Behind `at` and the connection.
            let first = pending.firstIndex(of: UInt8(ascii: ","), from: start) ?? end
            let second = first < end ? pending.firstIndex(of: UInt8(ascii: ","), from: first + 1) ?? end : end
            let member = pending.extracting(min(second, end)..<end)
            if member.starts(with: Self.requestMember) {
                let count = Self.requests(in: member.extracting(Self.requestMember.count..<member.count - 1))
                (requests, dropped) = (requests - min(count, requests), dropped + count)
            } else if member.starts(with: Bytes(AnyMember.reply.text)) {
                (replies, dropped) = (replies - min(1, replies), dropped + 1)
            }
            start = end + 1
        }
    }

    private static var requestMember: Bytes { Bytes(AnyMember.request.text) }

    /// Requests of a line: those of a batch, or one.
    private static func requests(in line: Bytes) -> UInt64 {
        guard line.first == UInt8(ascii: "[") else { return 1 }
        var walk = JSONWalk(line, storage: WalkStorage())
        var count: UInt64 = 0
        while walk.nextElement() != nil { count += 1 }
        return count
    }

    /// The last line: what has it is whole.
    func appendEnd() {
        text.openObject()
        text.append(.atMicroseconds, lastMoment)
        text.openObject(.end)
        text.append(.requests, requests)
        text.append(.replies, replies)
        text.append(.dropped, dropped)
        text.closeObject()
        end()
    }

    private func begin(_ entry: TrafficQueue.Entry) {
        lastMoment = entry.at / 1000
        text.openObject()
        text.append(.atMicroseconds, lastMoment)
        text.append(.connection, UInt64(entry.connection))
    }

    private func end() { text.append("}\n") }

    // MARK: Replies

    private func expect(_ call: RecordedRequest.Call, _ connection: UInt32) {
        guard openCount < Self.openLimit, let id = call.id else { return }
        open[connection, default: [:]][id, default: []].append(call)
        openCount += 1
    }

    /// The request whose reply has this id; nil when none that was written has it.
    private func answered(_ id: [UInt8], _ connection: UInt32) -> RecordedRequest.Call? {
        guard var calls = open[connection]?[id], !calls.isEmpty else { return nil }
        let call = calls.removeFirst()
        open[connection]?[id] = calls.isEmpty ? nil : calls
        openCount -= 1
        return call
    }

    private func append(reply line: Bytes, _ entry: TrafficQueue.Entry) {
        guard !line.starts(with: ReplyIDs.notification) else { return }
        switch line.first {
        case UInt8(ascii: "{"): append(single: line, entry)
        case UInt8(ascii: "["):
            var walk = JSONWalk(line, storage: WalkStorage())
            while let reply = walk.nextElement() { append(single: reply, entry) }
        // The end of a line whose beginning had left before.
        default: break
        }
    }

    private func append(single reply: Bytes, _ entry: TrafficQueue.Entry) {
        guard let id = ReplyIDs.read(reply).first, let call = answered(id, entry.connection) else { return }
        begin(entry)
        text.append(name: AnyMember.reply)
        // The daemon reads the id of many a line that is no JSON. What is sent in its place has none.
        if call.isHidden { text.append("null") } else { text.append(id) }
        RecordedReply.append(reply, of: call.method.map { request.table.methods[$0] }, request, to: &text)
        end()
        replies += 1
    }

    // MARK: Descriptors

    private func append(_ descriptor: PassedDescriptor?) {
        var information = stat()
        var (kind, mode): (StaticString, StaticString) = ("other", "read")
        if let descriptor, unsafe fstat(descriptor.number, &information) == 0 {
            switch information.st_mode & S_IFMT {
            case S_IFREG: kind = "file"
            case S_IFIFO: kind = "pipe"
            case S_IFSOCK: kind = "socket"
            default: break
            }
            switch fcntl(descriptor.number, F_GETFL) & O_ACCMODE {
            case O_RDONLY: break
            case O_WRONLY: mode = "write"
            default: mode = "both"
            }
        }
        text.openObject(.descriptor)
        text.append(.kind, word: kind)
        text.append(.bytes, Int64(information.st_size))
        text.append(.mode, word: mode)
        text.closeObject()
    }
}
