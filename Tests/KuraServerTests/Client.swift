import Glibc
import KuraBytes
import Testing

/// A client of the simplest kind: a blocking socket, lines out, lines in.
final class Client {
    let descriptor: Int32
    private var pending: [UInt8] = []
    private var start = 0
    /// What is received at once. By pointer, as the scan for a line's end: tests are not optimised.
    private let chunk = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 1)
    private var nextID = 1

    enum Failure: Error {
        case connect(errno: Int32)
        case silence
        case receive(errno: Int32)
        case end
        case refused(JSON)
    }

    // `seconds` is how long a read waits before the test gives up.
    init(path: String, seconds: Int = Sanitizers.patience) throws {
        descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        try #require(descriptor >= 0)
        guard Self.connect(descriptor, path) == 0 else {
            // `deinit` closes the descriptor: everything is initialised by now.
            throw Failure.connect(errno: errno)
        }
        var time = timeval(tv_sec: seconds, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
    }

    /// Takes a connected socket over.
    init(adopting descriptor: Int32) {
        self.descriptor = descriptor
    }

    deinit {
        chunk.deallocate()
        close(descriptor)
    }

    static func connect(_ descriptor: Int32, _ path: String) -> Int32 {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { room in
            for (index, byte) in path.utf8.prefix(room.count - 1).enumerated() { room[index] = byte }
        }
        return withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }

    // MARK: Bytes

    func send(_ text: String) {
        send(Array(text.utf8))
    }

    /// Sends everything; waits while the daemon does not read. A daemon that has gone shows in the next read.
    func send(_ bytes: [UInt8]) {
        var done = 0
        while done < bytes.count {
            let count = bytes[done...].withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return }
            done += count
        }
    }

    /// Sends a text whose first byte carries descriptors (SCM_RIGHTS).
    func send(_ text: String, descriptors: [Int32]) throws {
        let bytes = Array(text.utf8)
        let sent = KuraTestSupport.send(bytes, descriptors: descriptors, to: descriptor)
        try #require(sent > 0, "sendmsg: \(errno)")
        if sent < bytes.count { send(Array(bytes[sent...])) }
    }

    func halfClose() {
        shutdown(descriptor, Int32(SHUT_WR))
    }

    /// The next line without its end; nil at the end of input.
    func line() throws -> String? {
        var scanned = start
        while true {
            if let end = lineEnd(from: scanned) {
                let line = String(decoding: pending[start..<end], as: UTF8.self)
                start = end + 1
                if start > 1 << 20 {
                    pending.removeFirst(start)
                    start = 0
                }
                return line
            }
            scanned = pending.count
            guard try receive(flags: 0) else {
                guard start == pending.count else {
                    defer { start = pending.count }
                    return String(decoding: pending[start...], as: UTF8.self)
                }
                return nil
            }
        }
    }

    private func lineEnd(from position: Int) -> Int? {
        pending.withUnsafeBytes { bytes in
            guard let first = bytes.baseAddress else { return nil }
            return memchr(first + position, 0x0A, bytes.count - position).map { UnsafeRawPointer($0) - first }
        }
    }

    /// - Returns: false at the end of input, or when nothing is there and `flags` say not to wait.
    @discardableResult
    private func receive(flags: Int32) throws -> Bool {
        let count = recv(descriptor, chunk.baseAddress, chunk.count, flags)
        if count == 0 { return false }
        guard count > 0 else {
            if errno == EINTR { return try receive(flags: flags) }
            if errno == EAGAIN {
                if flags == 0 { throw Failure.silence }
                return false
            }
            if errno == ECONNRESET { return false }
            throw Failure.receive(errno: errno)
        }
        pending.append(contentsOf: UnsafeRawBufferPointer(rebasing: chunk[..<count]))
        return true
    }

    /// Every line up to the end of input.
    func lines() throws -> [String] {
        var lines: [String] = []
        while let line = try line() { lines.append(line) }
        return lines
    }

    /// Sends a text while reading what comes back, says that this is all, and returns every line of the answer.
    func exchange(_ text: String) throws -> [String] {
        let bytes = Array(text.utf8)
        var done = 0
        while done < bytes.count {
            var poll = pollfd(fd: descriptor, events: Int16(POLLIN | POLLOUT), revents: 0)
            guard Glibc.poll(&poll, 1, Int32(Sanitizers.patience * 1000)) > 0 else { throw Failure.silence }
            if poll.revents & Int16(POLLIN) != 0 { try receive(flags: Int32(MSG_DONTWAIT)) }
            if poll.revents & Int16(POLLOUT) != 0 {
                let count = bytes[done...].withUnsafeBytes {
                    Glibc.send(
                        descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
                }
                if count < 0, errno == EAGAIN || errno == EINTR { continue }
                guard count > 0 else { break }
                done += count
            }
            if poll.revents & Int16(POLLHUP | POLLERR) != 0, poll.revents & Int16(POLLIN | POLLOUT) == 0 { break }
        }
        halfClose()
        return try lines()
    }

    /// Whether a reply, or the end, is there to be read.
    var hasInput: Bool {
        if start < pending.count { return true }
        var poll = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return Glibc.poll(&poll, 1, 0) > 0
    }

    // MARK: Requests

    static func request(_ method: String, _ params: String = "{}", id: String? = "1") -> String {
        let id = id.map { "\"id\":\($0)," } ?? ""
        return "{\"jsonrpc\":\"2.0\",\(id)\"method\":\"\(method)\",\"params\":\(params)}\n"
    }

    func reply() throws -> JSON {
        guard let line = try line() else { throw Failure.end }
        return try JSON(line)
    }

    /// The whole reply to a request; checks that its id comes back.
    func call(_ method: String, _ params: String = "{}", descriptors: [Int32] = []) throws -> JSON {
        let id = nextID
        nextID += 1
        let request = Self.request(method, params, id: String(id))
        if descriptors.isEmpty { send(request) } else { try send(request, descriptors: descriptors) }
        var reply = try reply()
        // A long one says how far it is.
        while reply["method"]?.text == "progress" { reply = try self.reply() }
        // What is no JSON has no id.
        let isUnread = reply["error"]?["data"]?["kind"]?.text == "parseError"
        #expect(reply["id"]?.int == id || isUnread, "\(reply)")
        return reply
    }

    /// - Throws: `.refused` with the error object when the reply is one.
    @discardableResult
    func result(_ method: String, _ params: String = "{}", descriptors: [Int32] = []) throws -> JSON {
        let reply = try call(method, params, descriptors: descriptors)
        guard let result = reply["result"] else { throw Failure.refused(reply) }
        return result
    }

    /// The error's `data`; fails the test when there is a result.
    func refusal(_ method: String, _ params: String = "{}", descriptors: [Int32] = []) throws -> JSON {
        let reply = try call(method, params, descriptors: descriptors)
        return try #require(reply["error"]?["data"], "\(method) was not refused: \(reply)")
    }
}
