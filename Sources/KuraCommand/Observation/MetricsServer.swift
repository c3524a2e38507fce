import CSyscalls
import Glibc
import KuraBytes

// Safety: `read`, `write` and `poll` get memory with its length; the text of `strerror` is copied at once by the only thread.

/// HTTP/1.1 as far as a scraper needs it: one request a connection, `GET` and `HEAD` of one page, on a loopback address.
/// Source: RFC 9112.
final class MetricsServer {
    /// Where the page is.
    let url: String
    let port: UInt16
    private let listener: Int32
    private let page: () -> String

    /// Bytes of a request's head, and milliseconds that its client may take for all of it.
    private static let headBytes = 8192
    private static let patience: Int64 = 5000

    /// - Parameters:
    ///   - text: `127.0.0.1:9464`, `[::1]:9464` or `localhost:9464`; port 0 takes one that is free.
    ///   - page: makes what is served.
    /// - Throws: a usage failure when the address is none, or none of loopback, or in use.
    init(listeningAt text: String, page: @escaping () -> String) throws(Failure) {
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else {
            throw .usage("--listen takes ADDRESS:PORT, not '\(text)'", hint: "for example 127.0.0.1:9464")
        }
        var host = String(text[..<colon])
        let shown = host
        if host == "localhost" { host = "127.0.0.1" }
        if host.hasPrefix("["), host.hasSuffix("]") { host = String(host.dropFirst().dropLast()) }
        listener = unsafe csys_listen_loopback(host, port)
        guard listener >= 0 else {
            if errno == EADDRNOTAVAIL {
                throw .usage(
                    "'\(shown)' is no loopback address",
                    hint:
                        "whoever reaches the port reads the numbers: listen at 127.0.0.1 or [::1], and put what knows its clients in front"
                )
            }
            throw Failure(
                status: .refused, message: unsafe "cannot listen at \(text): \(String(cString: strerror(errno)))")
        }
        self.port = csys_local_port(listener)
        url = "http://\(shown):\(self.port)/metrics"
        self.page = page
    }

    deinit { close(listener) }

    /// Serves until the process ends.
    func run() throws(Failure) -> Never {
        // A client that has gone is no reason to end.
        signal(SIGPIPE, SIG_IGN)
        while true {
            guard serveOne() || [EINTR, ECONNABORTED, EAGAIN, EMFILE, ENFILE, ENOMEM, ENOBUFS, EPROTO].contains(errno)
            else {
                throw Failure(
                    status: .refused, message: unsafe "cannot take connections: \(String(cString: strerror(errno)))")
            }
        }
    }

    /// Takes one connection and answers it.
    /// - Returns: false when none could be taken; errno says why.
    func serveOne() -> Bool {
        let client = csys_accept4(listener, Int32(SOCK_CLOEXEC.rawValue))
        guard client >= 0 else {
            // Out of descriptors: others may give some back.
            if errno == EMFILE || errno == ENFILE { usleep(100_000) }
            return false
        }
        defer { close(client) }
        let answer: [UInt8]
        if let head = readHead(client) { answer = Self.answer(to: head, page) } else { return true }
        write(answer, to: client)
        // What the client has still to say is read away, or closing would take the answer from it.
        shutdown(client, Int32(SHUT_WR))
        var rest = [UInt8](repeating: 0, count: 1024)
        while wait(client, POLLIN, until: Self.now() + 200), unsafe read(client, &rest, rest.count) > 0 {}
        return true
    }

    // MARK: The request

    /// Everything up to the empty line; nil when it does not come in time or is too long.
    private func readHead(_ client: Int32) -> [UInt8]? {
        var head: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 2048)
        let deadline = Self.now() + Self.patience
        while head.count <= Self.headBytes {
            guard wait(client, POLLIN, until: deadline) else { return nil }
            let count = unsafe read(client, &chunk, chunk.count)
            guard count > 0 else { return nil }
            head += chunk[..<count]
            let end = [0x0D, 0x0A, 0x0D, 0x0A] as [UInt8]
            if head.count >= 4, head.indices.dropLast(3).contains(where: { head[$0..<$0 + 4].elementsEqual(end) }) {
                return head
            }
        }
        write(Self.response(431, "Request Header Fields Too Large", "too long a request\n"), to: client)
        return nil
    }

    /// The answer to a request's head.
    static func answer(to head: [UInt8], _ page: () -> String) -> [UInt8] {
        let lines = String(decoding: head, as: UTF8.self).split(separator: "\r\n", omittingEmptySubsequences: false)
        let words = lines[0].split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 3, words[2] == "HTTP/1.1" || words[2] == "HTTP/1.0", words[1].hasPrefix("/") else {
            return response(400, "Bad Request", "no HTTP/1.1 request\n")
        }
        let hosts = lines.dropFirst().compactMap { line -> Substring? in
            guard let colon = line.firstIndex(of: ":"), line[..<colon].lowercased() == "host" else { return nil }
            return line[line.index(after: colon)...]
        }
        guard hosts.count == 1 || (hosts.isEmpty && words[2] == "HTTP/1.0") else {
            return response(400, "Bad Request", "one Host is needed\n")
        }
        // A page from elsewhere whose name has been made to lead here must not read what is served.
        guard hosts.allSatisfy({ isLoopback(host: $0) }) else {
            return response(403, "Forbidden", "the Host is no loopback address\n")
        }
        guard words[0] == "GET" || words[0] == "HEAD" else {
            return response(405, "Method Not Allowed", "GET and HEAD only\n", more: "Allow: GET, HEAD\r\n")
        }
        let path = words[1].prefix { $0 != "?" }
        let isHead = words[0] == "HEAD"
        switch path {
        case "/metrics":
            return response(
                200, "OK", page(), type: "text/plain; version=0.0.4; charset=utf-8", isHead: isHead)
        case "/": return response(200, "OK", "Kura's metrics are at /metrics\n", isHead: isHead)
        default: return response(404, "Not Found", "it is at /metrics\n", isHead: isHead)
        }
    }

    private static func isLoopback(host text: Substring) -> Bool {
        var host = text.drop { $0 == " " || $0 == "\t" }
        while let last = host.last, last == " " || last == "\t" { host.removeLast() }
        if host.hasPrefix("[") {
            return host.hasPrefix("[::1]") && (host.count == 5 || host.dropFirst(5).hasPrefix(":"))
        }
        let name = host.prefix { $0 != ":" }
        let parts = name.split(separator: ".", omittingEmptySubsequences: false)
        return name.lowercased() == "localhost"
            || (parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil })
    }

    private static func response(
        _ status: Int, _ reason: String, _ body: String, type: String = "text/plain; charset=utf-8", more: String = "",
        isHead: Bool = false
    ) -> [UInt8] {
        let head =
            "HTTP/1.1 \(status) \(reason)\r\nContent-Type: \(type)\r\nContent-Length: \(body.utf8.count)\r\n"
            + "Cache-Control: no-store\r\n\(more)Connection: close\r\n\r\n"
        return Array((isHead ? head : head + body).utf8)
    }

    // MARK: The socket

    private func write(_ bytes: [UInt8], to client: Int32) {
        var rest = bytes[...]
        let deadline = Self.now() + Self.patience
        while !rest.isEmpty {
            guard wait(client, POLLOUT, until: deadline) else { return }
            let count = rest.withBytes {
                unsafe send(client, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
            }
            if count < 0, errno == EINTR || errno == EAGAIN { continue }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }

    private func wait(_ client: Int32, _ events: Int32, until deadline: Int64) -> Bool {
        var state = pollfd(fd: client, events: Int16(events), revents: 0)
        while true {
            let left = deadline - Self.now()
            guard left > 0 else { return false }
            let count = unsafe poll(&state, 1, Int32(clamping: left))
            if count < 0, errno == EINTR { continue }
            return count > 0
        }
    }

    private static func now() -> Int64 { Int64(ProgressLine.seconds() * 1000) }
}
