import CSyscalls
import Glibc
import Testing

@testable import KuraClient

@Suite struct LineConnectionTests {
    private static func openError(_ path: String) -> ClientError? {
        do throws(ClientError) {
            _ = try LineConnection.open(path: path)
            return nil
        } catch {
            return error
        }
    }

    @Test func `without a daemon the error says where it looked and how to start one`() {
        let error = Self.openError("/nonexistent/kura.sock")
        #expect(error?.code == .noDaemon)
        #expect(error?.message == "no daemon listens at /nonexistent/kura.sock")
        #expect(error?.hint?.contains("kurad --socket /nonexistent/kura.sock") == true)
        #expect(error?.cause.map { "\($0)" } == "connect /nonexistent/kura.sock: No such file or directory")
    }

    @Test func `a daemon that takes no connection is asked until it does, or the time is over`() throws {
        let path = "/tmp/kura-full-\(getpid())-\(UInt32.random(in: 0 ... .max)).sock"
        let listener = csys_stream_socket()
        try #require(csys_bind_unix(listener, path) == 0 && listen(listener, 1) == 0)
        var others: [Int32] = []
        defer {
            for descriptor in others + [listener] { close(descriptor) }
            unlink(path)
        }
        // As many as the queue has room for.
        while true {
            let descriptor = csys_stream_socket()
            try #require(descriptor >= 0 && fcntl(descriptor, F_SETFL, O_NONBLOCK) == 0)
            others.append(descriptor)
            guard csys_connect_unix(descriptor, path) != 0 else { continue }
            try #require(errno == EAGAIN)
            break
        }
        var ticks = 0
        let error = #expect(throws: ClientError.self) {
            _ = try LineConnection.open(path: path, timeoutMilliseconds: 100) { ticks += 1 }
        }
        #expect(error?.code == .timedOut && error?.message.hasSuffix("took no connection within 100 ms") == true)
        #expect(error?.hint?.contains("stopped") == true && ticks > 0)
        // Without a time it waits for ever: until there is room.
        ticks = 0
        _ = try LineConnection.open(path: path) {
            ticks += 1
            if ticks == 10 { others.append(accept(listener, nil, nil)) }
        }
        #expect(ticks == 10)
    }

    @Test func `a path that cannot be a socket's is told apart`() {
        #expect(Self.openError("/" + String(repeating: "x", count: 200))?.code == .badPath)
        #expect(Self.openError("/proc/self/status")?.code == .noDaemon)
    }
}

/// A connection whose other end the test holds.
@Suite struct LineConnectionTrafficTests {
    private static func pair() -> (own: Int32, other: Int32) {
        var ends: [Int32] = [-1, -1]
        // Other tests start daemons meanwhile, which must not hold them open.
        let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        precondition(socketpair(AF_UNIX, kind, 0, &ends) == 0)
        return (ends[0], ends[1])
    }

    private static func write(_ text: String, to descriptor: Int32) {
        let bytes = Array(text.utf8)
        #expect(Glibc.write(descriptor, bytes, bytes.count) == bytes.count)
    }

    private static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    @Test func `lines are cut whether they come in pieces or several at once, with LF or CRLF`() throws {
        let (own, other) = Self.pair()
        defer { close(other) }
        var connection = LineConnection(owning: own, timeoutMilliseconds: 60_000)
        Self.write("one\r\ntwo\nth", to: other)
        #expect(Self.text(try connection.readLine()) == "one")
        #expect(Self.text(try connection.readLine()) == "two")
        Self.write("ree\n\n", to: other)
        #expect(Self.text(try connection.readLine()) == "three")
        #expect(Self.text(try connection.readLine()) == "")
    }

    @Test func `a line larger than any socket buffer goes and comes whole`() throws {
        let (own, other) = Self.pair()
        var connection = LineConnection(owning: own, timeoutMilliseconds: 60_000)
        // An echo of its own, since neither side can take the whole line at once.
        var thread = pthread_t()
        let box = UnsafeMutableRawPointer(bitPattern: Int(other) + 1)
        pthread_create(
            &thread, nil,
            { box in
                let descriptor = Int32(Int(bitPattern: box) - 1)
                var chunk = [UInt8](repeating: 0, count: 65_536)
                var all: [UInt8] = []
                while all.last != 0x0A {
                    let count = read(descriptor, &chunk, chunk.count)
                    guard count > 0 else { break }
                    all += chunk[..<count]
                }
                var rest = all[...]
                while !rest.isEmpty {
                    let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
                    guard count > 0 else { break }
                    rest = rest.dropFirst(count)
                }
                close(descriptor)
                return nil
            }, box)
        let line = (0..<5_000_000).map { UInt8(0x20 + $0 % 90) }
        try connection.send(line: line)
        #expect(try connection.readLine() == line)
        pthread_join(thread, nil)
        #expect(throws: ClientError(.connectionLost, "")) { try connection.readLine() }
    }

    @Test(arguments: [" ", "x\n"]) func `whatever comes and is no answer gives no more time`(text: String) throws {
        let (own, other) = Self.pair()
        var connection = LineConnection(owning: own, timeoutMilliseconds: 200)
        let byte = text == " " ? 0 : 1
        var thread = pthread_t()
        let box = UnsafeMutableRawPointer(bitPattern: Int(other) * 2 + byte + 2)
        pthread_create(
            &thread, nil,
            { box in
                let number = Int(bitPattern: box) - 2
                let text: [UInt8] = number % 2 == 0 ? [0x20] : [0x78, 0x0A]
                // Until the other end wants no more, or for as long as a test may take.
                for _ in 0..<3000 where send(Int32(number / 2), text, text.count, Int32(MSG_NOSIGNAL)) > 0 {
                    usleep(10_000)
                }
                close(Int32(number / 2))
                return nil
            }, box)
        connection.beginAnswer()
        #expect(throws: ClientError(.timedOut, "")) {
            while true { _ = try connection.readLine() }
        }
        shutdown(own, Int32(SHUT_RDWR))
        pthread_join(thread, nil)
    }

    @Test func `an end in the middle of a line is a lost connection, and so is sending into it`() throws {
        let (own, other) = Self.pair()
        var connection = LineConnection(owning: own, timeoutMilliseconds: 60_000)
        Self.write("half", to: other)
        close(other)
        #expect(throws: ClientError(.connectionLost, "")) { try connection.readLine() }
        #expect(throws: ClientError(.connectionLost, "")) { try connection.send(line: [0x31]) }
    }

    @Test func `silence ends after the time allowed`() throws {
        let (own, other) = Self.pair()
        defer { close(other) }
        var connection = LineConnection(owning: own, timeoutMilliseconds: 20)
        #expect(throws: ClientError(.timedOut, "")) { try connection.readLine() }
    }

    @Test func `a descriptor goes with the line, once`() throws {
        let (own, other) = Self.pair()
        defer { close(other) }
        var connection = LineConnection(owning: own, timeoutMilliseconds: 60_000)
        var ends: [Int32] = [-1, -1]
        #expect(pipe(&ends) == 0)
        try connection.send(line: Array("take".utf8), passing: ends[1])
        try connection.send(line: Array("none".utf8))
        close(ends[1])
        var chunk = [UInt8](repeating: 0, count: 64)
        var descriptors = [Int32](repeating: -1, count: Int(CSYS_MAX_DESCRIPTORS))
        var received: [UInt8] = []
        var passed: [Int32] = []
        while received.count < 10 {
            var count: Int32 = 0
            var flags: Int32 = 0
            let size = csys_recvmsg(other, &chunk, chunk.count, &descriptors, Int32(descriptors.count), &count, &flags)
            try #require(size > 0)
            received += chunk[..<size]
            passed += descriptors[..<Int(count)]
        }
        #expect(Self.text(received) == "take\nnone\n")
        try #require(passed.count == 1)
        #expect(Glibc.write(passed[0], "hello", 5) == 5)
        close(passed[0])
        #expect(read(ends[0], &chunk, 64) == 5 && read(ends[0], &chunk, 64) == 0)
        close(ends[0])
    }

    @Test func `a descriptor goes once with a line that is sent in many pieces`() throws {
        let (own, other) = Self.pair()
        var thread = pthread_t()
        let box = UnsafeMutableRawPointer(bitPattern: Int(other) + 1)
        pthread_create(
            &thread, nil,
            { box in
                let descriptor = Int32(Int(bitPattern: box) - 1)
                var chunk = [UInt8](repeating: 0, count: 65_536)
                var descriptors = [Int32](repeating: -1, count: Int(CSYS_MAX_DESCRIPTORS))
                var passed = 0
                while true {
                    var count: Int32 = 0
                    var flags: Int32 = 0
                    var ready = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
                    poll(&ready, 1, -1)
                    let size = csys_recvmsg(
                        descriptor, &chunk, chunk.count, &descriptors, Int32(descriptors.count), &count, &flags)
                    for position in 0..<Int(count) { close(descriptors[position]) }
                    passed += Int(count)
                    if size == 0 || size > 0 && chunk[size - 1] == 0x0A { break }
                }
                close(descriptor)
                return UnsafeMutableRawPointer(bitPattern: passed)
            }, box)
        var connection = LineConnection(owning: own, timeoutMilliseconds: 60_000)
        try connection.send(line: [UInt8](repeating: 0x78, count: 5_000_000), passing: STDERR_FILENO)
        var passed: UnsafeMutableRawPointer?
        pthread_join(thread, &passed)
        #expect(Int(bitPattern: passed) == 1)
    }

    @Test func `while nothing comes the caller is told, and the time allowed still ends it`() throws {
        let (own, other) = Self.pair()
        defer { close(other) }
        var connection = LineConnection(owning: own, timeoutMilliseconds: 1050)
        var ticks = 0
        #expect(throws: ClientError(.timedOut, "")) { try connection.readLine(tick: { ticks += 1 }) }
        // On a busy machine each takes longer.
        #expect((1...11).contains(ticks))
    }
}
