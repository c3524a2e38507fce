import KuraBytes
import KuraProtocol
import KuraSocket

/// What the lines that come mean. All of it runs on the link's thread with the lock held.
extension Link {
    private static let replyStart: StaticString = "{\"jsonrpc\":\"2.0\",\"id\":"
    private static let noticeStart: StaticString = "{\"jsonrpc\":\"2.0\",\"method\":\""

    func take(line: Bytes) throws(KuraError) {
        if line.starts(with: Bytes(Self.replyStart)), takeReply(line) { return }
        if line.starts(with: Bytes(Self.noticeStart)), takeNotice(line) { return }
        try takeUnusual(Array(line))
    }

    /// A reply as the daemon writes it.
    /// - Returns: false when it is written otherwise.
    private func takeReply(_ line: Bytes) -> Bool {
        var position = Self.replyStart.utf8CodeUnitCount
        var id: Int64 = 0
        while position < line.count, line[position] &- UInt8(ascii: "0") < 10, id < 1 << 53 {
            id = id * 10 + Int64(line[position] &- UInt8(ascii: "0"))
            position += 1
        }
        let rest = line.extracting(position..<line.count)
        guard line.last == UInt8(ascii: "}") else { return false }
        if rest.starts(with: Bytes(",\"result\":{")) {
            answer(id, .result, rest.extracting(10..<rest.count - 1))
        } else if rest.starts(with: Bytes(",\"error\":{")), id > 0 {
            answer(id, .error, rest.extracting(9..<rest.count - 1))
        } else {
            return false
        }
        return true
    }

    private func answer(_ id: Int64, _ outcome: PendingCall.Outcome, _ text: Bytes) {
        // One that was asked on another connection, or is nobody's.
        guard let call = call(id) else { return }
        if outcome == .result, call.wantsDescriptor, Self.carries(text) {
            if case .descriptor(let passed) = descriptors.take() {
                call.received = OwnedDescriptor(duplicating: passed.number)
            }
            descriptors.commit()
        }
        // Before anything is sent that is asked for because of this answer, and whether or not somebody still waits for it.
        if let change = call.standing, change.holds(outcome, text) { standing.apply(change) }
        if call.subscription == nil, !call.isAbandoned {
            call.reply.reserve(text.count)
            call.reply.append(text)
        }
        if let subscription = call.subscription { answered(subscription, outcome, Array(text)) }
        give(call, outcome)
        if call.subscription != nil, call.phase == .done { recycle(call) }
    }

    /// Whether a descriptor belongs to the result of a call that has asked for one.
    private static func carries(_ text: Bytes) -> Bool {
        guard let result = JSONObject(Array(text)) else { return false }
        return result.boolean("found") != false && result["data"] == nil && result["path"] == nil
    }

    /// A notification as the daemon writes it.
    private func takeNotice(_ line: Bytes) -> Bool {
        let start = Self.noticeStart.utf8CodeUnitCount
        guard let end = line.firstIndex(of: UInt8(ascii: "\""), from: start), line.last == UInt8(ascii: "}") else {
            return false
        }
        let method = line.extracting(start..<end)
        let rest = line.extracting(end..<line.count)
        let head = Bytes("\",\"params\":{\"subscription\":")
        guard rest.starts(with: head), let dot = method.firstIndex(of: UInt8(ascii: ".")) else { return false }
        var number: Int64 = 0
        var position = head.count
        while position < rest.count, rest[position] &- UInt8(ascii: "0") < 10, number < 1 << 53 {
            number = number * 10 + Int64(rest[position] &- UInt8(ascii: "0"))
            position += 1
        }
        let family = Subscription.Family(method.extracting(0..<dot))
        guard let family, let subscription = told[Subscription.Number(family: family, value: number)] else {
            return true
        }
        let event = String(method.extracting(dot + 1..<method.count))
        tell(subscription, event, Array(rest.extracting(11..<rest.count - 1)))
        return true
    }

    /// A line in another form, or about the connection as a whole.
    private func takeUnusual(_ line: [UInt8]) throws(KuraError) {
        guard let object = JSONObject(line), object.string("jsonrpc") == "2.0" else {
            throw KuraError(.badReply, "a line of \(line.count) bytes came that is no JSON-RPC 2.0")
        }
        if let id = object.integer("id") {
            if let result = object["result"] {
                result.withBytes { answer(id, .result, $0) }
            } else if let error = object["error"] {
                error.withBytes { answer(id, .error, $0) }
            }
            return
        }
        // Progress, and notifications of later versions.
        if object.string("method") != nil { return }
        if let error = object["error"] { blame(error) }
    }

    /// An error under id null is about a line of ours that the daemon could not read: finds whose it was. If it is nobody's it is about the
    /// connection as a whole: too many, no role, no memory.
    private func blame(_ error: [UInt8]) {
        let details = JSONObject(error)?.object("data")
        let waiting = calls.filter { $0.phase == .sent }.sorted { $0.id < $1.id }
        var guilty: PendingCall?
        switch details?.string("kind") {
        case "lineTooLong":
            let limit = details?.integer("limit") ?? .max
            guilty = waiting.first { Int64($0.request.count) + 40 > limit }
        case "parseError", "invalidRequest": guilty = waiting.first(where: Self.isFaulty)
        default: break
        }
        if guilty == nil, waiting.count == 1 { guilty = waiting[0] }
        for call in guilty.map({ [$0] }) ?? waiting { error.withBytes { answer(call.id, .error, $0) } }
    }

    /// Whether what we have sent is no I-JSON: a name twice in an object, or too deep.
    private static func isFaulty(_ call: PendingCall) -> Bool {
        var line: [UInt8] = Array("{\"id\":0".utf8)
        line += Array(call.request.bytes)
        return line.withBytes { !JSONText.isObject($0) }
    }
}
