import Glibc
import Synchronization
import Testing

/// What listens like a daemon and answers as a test wants it to.
final class FakeDaemon: @unchecked Sendable {
    // Written in `init`; `log` has a lock of its own.
    let path: String
    private let listener: Int32
    private var thread = pthread_t()
    /// Every line that came, with the number of its connection.
    var lines: Log { log }
    private let log = Log()

    /// What the daemon and its thread share, which may outlast it: it goes with the test, the thread with its last connection.
    final class Log: Sendable {
        private let lines = Mutex<[(connection: Int, line: String)]>([])
        private let state = Mutex<State>(.waiting)

        fileprivate enum State { case waiting, serving, over }

        func withLock<Result>(_ body: (inout [(connection: Int, line: String)]) throws -> Result) rethrows -> Result {
            try lines.withLock { try body(&$0) }
        }

        /// - Returns: false when nobody has the daemon any more.
        fileprivate func enter(_ next: State) -> Bool {
            state.withLock { state in
                guard state != .over else { return false }
                state = next
                return true
            }
        }

        /// - Returns: what its thread was doing.
        fileprivate func end() -> State {
            state.withLock { state in
                defer { state = .over }
                return state
            }
        }
    }

    /// One client's connection.
    struct Connection {
        let descriptor: Int32
        fileprivate var input: [UInt8] = []
        fileprivate let log: Log
        fileprivate let number: Int

        fileprivate init(_ descriptor: Int32, _ log: Log, _ number: Int) {
            self.descriptor = descriptor
            self.log = log
            self.number = number
        }

        /// nil at the end.
        mutating func line() -> String? {
            while true {
                if let end = input.firstIndex(of: 0x0A) {
                    let line = String(decoding: input[..<end], as: UTF8.self)
                    input.removeFirst(end + 1)
                    log.withLock { $0.append((number, line)) }
                    return line
                }
                var chunk = [UInt8](repeating: 0, count: 65_536)
                let count = read(descriptor, &chunk, chunk.count)
                guard count > 0 else { return nil }
                input += chunk[..<count]
            }
        }

        /// Whether more comes within a moment.
        func hasMore() -> Bool {
            if !input.isEmpty { return true }
            var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            return poll(&request, 1, 50) > 0
        }

        func send(_ line: String) {
            let bytes = Array((line + "\n").utf8)
            _ = Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
        }

        /// Answers `session.hello` as a daemon does.
        mutating func hello(protocol version: Int = 1, server: String = "kurad", epoch: String = "e") -> Bool {
            guard line() != nil else { return false }
            send(
                #"{"jsonrpc":"2.0","id":0,"result":{"server":"\#(server)","version":"9","protocol":\#(version),"role":"admin","grants":[],"epoch":"\#(epoch)","capabilities":[],"limits":{"lineBytes":16777216}}}"#
            )
            return true
        }

        /// The id of a request; null of a notification.
        static func id(of line: String) -> String {
            guard let start = line.range(of: "\"id\":") else { return "null" }
            return String(line[start.upperBound...].prefix { $0.isNumber })
        }
    }

    init(
        at path: String = "/tmp/kura-fake-\(getpid())-\(UInt32.random(in: 0 ... .max)).sock",
        _ serve: @escaping @Sendable (Int, inout Connection) -> Void
    ) throws {
        self.path = path
        listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let bound = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        try #require(bound == 0 && listen(listener, 16) == 0)
        final class Box {
            let body: () -> Void
            init(_ body: @escaping () -> Void) { self.body = body }
        }
        let box = Box { [listener, log] in
            var number = 0
            repeat {
                let descriptor = accept(listener, nil, nil)
                guard descriptor >= 0 else { return }
                // A daemon that another test has started meanwhile may have it too.
                defer {
                    shutdown(descriptor, Int32(SHUT_RDWR))
                    close(descriptor)
                }
                guard log.enter(.serving) else { return }
                number += 1
                var connection = Connection(descriptor, log, number)
                serve(number, &connection)
            } while log.enter(.waiting)
            // Nobody else does.
            close(listener)
        }
        pthread_create(
            &thread, nil,
            {
                Unmanaged<Box>.fromOpaque($0!).takeRetainedValue().body(); return nil
            }, Unmanaged.passRetained(box).toOpaque())
    }

    /// A reply to a request's line.
    static func reply(_ line: String, _ result: String) -> String {
        #"{"jsonrpc":"2.0","id":\#(Connection.id(of: line)),"result":\#(result)}"#
    }

    /// An error in reply to a request's line; `details` are further members of its data.
    static func error(_ line: String, _ kind: String, _ details: String = "") -> String {
        #"{"jsonrpc":"2.0","id":\#(Connection.id(of: line)),"error":{"code":-32000,"message":"no","data":{"kind":"\#(kind)"\#(details)}}}"#
    }

    /// The lines that have come so far which have this in them.
    func lines(with part: String) -> [String] { lines.withLock { $0 }.map(\.line).filter { $0.contains(part) } }

    deinit {
        // The thread ends with its listener and is waited for; not while it serves somebody, who may be waiting for us.
        if log.end() == .waiting {
            shutdown(listener, Int32(SHUT_RDWR))
            pthread_join(thread, nil)
            close(listener)
        } else {
            pthread_detach(thread)
        }
        unlink(path)
    }
}

extension String {
    fileprivate func range(of part: String) -> Range<String.Index>? {
        var start = startIndex
        while start < endIndex {
            if self[start...].hasPrefix(part) { return start..<index(start, offsetBy: part.count) }
            start = index(after: start)
        }
        return nil
    }
}
