import KuraBytes
import KuraClient
import KuraProtocol

/// A file of `storage.record`, read as a whole: what is to be played, in its order, and what was answered.
struct RecordedTraffic {
    struct Event {
        /// Microseconds since the recording's beginning.
        let at: UInt64
        let connection: Int64
        let kind: Kind
    }

    enum Kind {
        case opened(role: String)
        case closed
        /// Comes with the connection's next request.
        case descriptor(bytes: Int64, isRead: Bool)
        /// A line, and which of the calls are in it.
        case request([UInt8], calls: Range<Int>)
        /// The call was answered here.
        case reply(call: Int)
    }

    /// One request of a line.
    struct Call {
        let method: String
        /// As the reply has it; nil: none is due.
        let id: [UInt8]?
        let at: UInt64
        let connection: Int64
        /// Where it stands in the file, counted from 1.
        let line: Int
        /// nil: the recording does not say.
        var reply: Reply?
    }

    struct Reply {
        let at: UInt64
        /// The kind of error; nil when there was a result.
        let error: String?
        /// What the daemon made up, where the result had it.
        let minted: [UInt8]?
        /// How much was found, as `Method.outline` has it.
        let outline: JSONObject?
    }

    private(set) var events: [Event] = []
    private(set) var calls: [Call] = []
    /// The daemon's that was recorded.
    private(set) var version = ""
    /// The newest revision at its beginning: above 0 something was there.
    private(set) var rev: Int64 = 0
    private(set) var connections = 0
    /// Of its connections, in the order in which they came.
    private(set) var roles: [String] = []
    /// Requests and replies that the recording lacks, since they came too fast.
    private(set) var dropped: Int64 = 0
    /// It ends with its last line.
    private(set) var isWhole = false

    private let reader = RequestReader()
    /// Calls that have no reply yet, by connection and id.
    private var open: [Int64: [[UInt8]: [Int]]] = [:]

    /// - Parameters:
    ///   - text: all of the file.
    ///   - path: its name, for messages.
    /// - Throws: that it is no recording, is damaged, or is a newer version's.
    init(_ text: [UInt8], _ path: String) throws(Failure) {
        let path = Visible.line(path)
        var lines = text.split(separator: 0x0A, omittingEmptySubsequences: false)
        let last = lines.popLast() ?? []
        guard let head = lines.first.flatMap({ JSONObject($0) }), let format = head.integer("recording") else {
            throw .usage("\(path) is no recording", hint: "'kura record FILE' makes one")
        }
        guard format <= Recording.format else {
            throw .usage(
                "\(path) was recorded by a newer version: format \(format), and this kura knows \(Recording.format)",
                hint: "play it with the kura of the daemon that it was recorded from, or a newer one")
        }
        version = head.string("version") ?? ""
        rev = head.integer("rev") ?? 0
        for (number, line) in lines.enumerated().dropFirst() {
            guard !isWhole, take(line, number + 1) else {
                throw .usage("line \(number + 1) of \(path) is none of a recording: the file is damaged")
            }
        }
        // A last line that was cut off is not played.
        if !last.isEmpty { isWhole = false }
        open = [:]
    }

    /// - Returns: whether it is a line of a recording.
    private mutating func take(_ line: ArraySlice<UInt8>, _ number: Int) -> Bool {
        guard let object = JSONObject(line), let moment = object.integer("at"), moment >= 0 else { return false }
        let at = UInt64(moment)
        if object["end"] != nil {
            isWhole = true
            return true
        }
        if let count = object.integer("dropped") {
            dropped += count
            return true
        }
        guard let connection = object.integer("connection") else { return false }
        func append(_ kind: Kind) { events.append(Event(at: at, connection: connection, kind: kind)) }
        if let role = object.string("role") {
            connections += 1
            if !roles.contains(role) { roles.append(role) }
            append(.opened(role: role))
        } else if let request = object["request"] {
            take(request, at, connection, number)
        } else if let id = object["reply"] {
            takeReply(id, object, at, connection)
        } else if let descriptor = object.object("descriptor") {
            append(
                .descriptor(bytes: descriptor.integer("bytes") ?? 0, isRead: descriptor.string("mode") != "write"))
        } else if object["closed"] != nil {
            open[connection] = nil
            append(.closed)
        } else {
            return false
        }
        return true
    }

    private mutating func take(_ request: [UInt8], _ at: UInt64, _ connection: Int64, _ number: Int) {
        // A line that was no JSON stands as a text; as many bytes that are no JSON are sent for it.
        let isText = request.first == UInt8(ascii: "\"")
        let line = isText ? Array(request.dropFirst().dropLast()) : request
        let ids = line.withBytes { reader.replyIDs(of: $0, batchLimit: .max) }
        let elements = ids.count == 1 && request.first != UInt8(ascii: "[") ? [line] : JSONElements.read(line) ?? []
        let first = calls.count
        for (position, id) in ids.enumerated() {
            let method = position < elements.count ? JSONObject(elements[position])?.string("method") : nil
            calls.append(Call(method: method ?? "(no method)", id: id, at: at, connection: connection, line: number))
            if let id { open[connection, default: [:]][id, default: []].append(calls.count - 1) }
        }
        events.append(Event(at: at, connection: connection, kind: .request(line, calls: first..<calls.count)))
    }

    private mutating func takeReply(_ id: [UInt8], _ object: JSONObject, _ at: UInt64, _ connection: Int64) {
        guard var waiting = open[connection]?[id], !waiting.isEmpty else { return }
        let call = waiting.removeFirst()
        open[connection]?[id] = waiting
        calls[call].reply = Reply(
            at: at, error: object.string("error"), minted: object["minted"], outline: object.object("outline"))
        events.append(Event(at: at, connection: connection, kind: .reply(call: call)))
    }
}
