import CSyscalls
import Glibc
import KuraClient
import Synchronization

/// A server of one connection after the other that answers as the test says.
final class FakeServer: Sendable {
    struct Request {
        let method: String
        let params: String
        let id: Int64
        /// What came along, still open.
        let descriptors: [Int32]

        func result(_ json: String) -> String { "{\"jsonrpc\":\"2.0\",\"id\":\(id),\"result\":\(json)}" }

        func error(_ kind: String, code: Int, retryable: Bool = false, _ more: String = "") -> String {
            "{\"jsonrpc\":\"2.0\",\"id\":\(id),\"error\":{\"code\":\(code),\"message\":\"No\",\"data\":"
                + "{\"kind\":\"\(kind)\",\"retryable\":\(retryable)\(more)}}}"
        }
    }

    let path: String
    private let listener: Int32
    private let answer: @Sendable (Request) -> [String]
    private let log = Mutex<[String]>([])

    /// Every request so far: method and parameters.
    var requests: [String] { log.withLock { $0 } }

    /// The same without their request keys, which are others each time.
    var keylessRequests: [String] {
        requests.map { request in
            var request = request
            request.replace(/,"requestKey":"kura-[0-9a-z]+"}$/, with: "}")
            return request
        }
    }

    /// - Parameter answer: the lines to send back; after an empty array, or an empty line, the connection is closed.
    init(_ answer: @escaping @Sendable (Request) -> [String]) {
        self.answer = answer
        path = "/tmp/kura-fake-\(getpid())-\(UInt32.random(in: 0 ... .max)).sock"
        listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        precondition(csys_bind_unix(listener, path) == 0 && listen(listener, 8) == 0)
        var thread = pthread_t()
        let box = Unmanaged.passRetained(Box(server: self, listener: listener))
        pthread_create(
            &thread, nil,
            { argument in
                guard let argument else { return nil }
                Unmanaged<Box>.fromOpaque(argument).takeRetainedValue().run()
                return nil
            }, box.toOpaque())
        pthread_detach(thread)
    }

    deinit {
        // Wakes the thread in accept; it closes the descriptor.
        shutdown(listener, Int32(SHUT_RDWR))
        unlink(path)
    }

    private final class Box {
        private weak var server: FakeServer?
        private let listener: Int32

        init(server: FakeServer, listener: Int32) {
            self.server = server
            self.listener = listener
        }

        func run() {
            while true {
                let connection = accept(listener, nil, nil)
                guard connection >= 0 else { break }
                serve(connection)
                close(connection)
            }
            close(listener)
        }

        private func serve(_ connection: Int32) {
            var received: [UInt8] = []
            var passed: [Int32] = []
            var chunk = [UInt8](repeating: 0, count: 65_536)
            var descriptors = [Int32](repeating: -1, count: Int(CSYS_MAX_DESCRIPTORS))
            while true {
                var count: Int32 = 0
                var flags: Int32 = 0
                let size = csys_recvmsg(
                    connection, &chunk, chunk.count, &descriptors, Int32(descriptors.count), &count, &flags)
                passed += descriptors[..<Int(count)]
                guard size > 0 else {
                    // The socket is blocking, but the wrapper may ask not to wait.
                    if size < 0, errno == EAGAIN || errno == EINTR {
                        usleep(500)
                        continue
                    }
                    return
                }
                received += chunk[..<size]
                while let end = received.firstIndex(of: 0x0A) {
                    let line = Array(received[..<end])
                    received.removeFirst(end + 1)
                    guard let lines = server?.lines(for: line, passed), !lines.isEmpty else { return }
                    passed.forEach { close($0) }
                    passed = []
                    let bytes = Array(lines.filter { $0 != "" }.map { $0 + "\n" }.joined().utf8)
                    guard send(connection, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count else { return }
                    if lines.last == "" { return }
                }
            }
        }
    }

    private func lines(for line: [UInt8], _ descriptors: [Int32]) -> [String] {
        guard let object = JSONObject(line), let method = object.string("method"), let id = object.integer("id") else {
            return []
        }
        let params = String(decoding: object["params"] ?? [], as: UTF8.self)
        log.withLock { $0.append(params.isEmpty ? method : "\(method) \(params)") }
        return answer(Request(method: method, params: params, id: id, descriptors: descriptors))
    }
}
