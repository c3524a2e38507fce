import Glibc
import Testing

/// Started and watched by a service manager: passed sockets, and what the daemon says of itself.
@Suite struct SupervisionScenarioTests {
    private let daemon: TemporaryDaemon

    init() throws {
        daemon = try TemporaryDaemon(starts: false)
    }

    /// A manager's end of `NOTIFY_SOCKET`.
    private final class Manager {
        let descriptor: Int32
        let address: String

        /// `address`: a path, or an abstract name behind `@`.
        init(_ address: String) throws {
            self.address = address
            descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
            var name = sockaddr_un()
            name.sun_family = sa_family_t(AF_UNIX)
            withUnsafeMutableBytes(of: &name.sun_path) { room in
                for (index, byte) in address.utf8.enumerated() { room[index] = byte == UInt8(ascii: "@") ? 0 : byte }
            }
            let length = 2 + address.utf8.count + (address.hasPrefix("@") ? 0 : 1)
            let result = withUnsafePointer(to: &name) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, socklen_t(length)) }
            }
            try #require(result == 0, "bind: \(errno)")
        }

        deinit { close(descriptor) }

        /// The next message's lines; nil when none comes in time.
        func next(seconds: Double) -> [String]? {
            var poll = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            guard Glibc.poll(&poll, 1, Int32(seconds * 1000)) > 0 else { return nil }
            var bytes = [UInt8](repeating: 0, count: 4096)
            let count = recv(descriptor, &bytes, bytes.count, 0)
            return String(decoding: bytes[..<max(count, 0)], as: UTF8.self).split(separator: "\n").map(String.init)
        }

        /// The next message that is no sign of life.
        func nextWord(seconds: Double = 60) -> [String]? {
            let deadline = now() + seconds
            while let lines = next(seconds: max(0, deadline - now())) {
                if lines != ["WATCHDOG=1"] { return lines }
            }
            return nil
        }
    }

    @Test(arguments: [false, true]) func `ready, reloading and stopping are told, by path and by abstract name`(
        isAbstract: Bool
    ) throws {
        let manager = try Manager(isAbstract ? "@kura-tests-\(getpid())" : daemon.root + "/notify")
        try daemon.launch(environment: ["NOTIFY_SOCKET=\(manager.address)"])
        let ready = try #require(manager.nextWord())
        #expect(ready == ["READY=1", "STATUS=serving, 1 sockets"])
        // It is true at once.
        let client = try daemon.connect()
        try client.result("storage.ping")
        Glibc.kill(daemon.pid, SIGHUP)
        let reloading = try #require(manager.nextWord())
        #expect(reloading.first == "RELOADING=1")
        let time = try #require(reloading.compactMap { $0.split(separator: "MONOTONIC_USEC=").first }.dropFirst().first)
        #expect(abs((Double(time) ?? 0) / 1e6 - now()) < 60)
        #expect(manager.nextWord()?.first == "READY=1")
        Glibc.kill(daemon.pid, SIGTERM)
        #expect(manager.nextWord()?.first == "STOPPING=1")
        #expect(daemon.wait() == 0)
        // No child would be misled.
        #expect(manager.next(seconds: 0.1) == nil)
    }

    @Test func `signs of life come from the loop, and none while it is stuck`() throws {
        let manager = try Manager(daemon.root + "/notify")
        // The first commit holds the loop up for a second and a half.
        try daemon.launch(
            faults: "log.commit:sleep=1500:1",
            environment: ["NOTIFY_SOCKET=\(manager.address)", "WATCHDOG_USEC=200000"])
        #expect(manager.nextWord()?.first == "READY=1")
        /// Signs until something holds, and in how many seconds. Those from before lie there if this process was held up.
        func signs(of act: () -> Void = {}, until holds: (Int) -> Bool) -> (count: Int, seconds: Double) {
            let (began, deadline) = (now(), now() + 60)
            while manager.next(seconds: 0) != nil {}
            act()
            var count = 0
            while !holds(count), now() < deadline { if manager.next(seconds: 0.02) == ["WATCHDOG=1"] { count += 1 } }
            while manager.next(seconds: 0) != nil { count += 1 }
            return (count, now() - began)
        }
        // Fewer on a busy machine.
        let (count, seconds) = signs(until: { $0 >= 10 })
        #expect(count >= 10 && Double(count) < seconds * 10 + 3, "one each 100 ms: \(count) in \(seconds) s")
        let client = try daemon.connect()
        let put = Client.request("settings.put", "{\"domain\":\"d\",\"key\":\"k\",\"value\":1}")
        let (few, whole) = signs(of: { client.send(put) }, until: { _ in client.hasInput })
        #expect(Double(few) < (whole - 1.5) * 10 + 4, "the loop is stuck: \(few) in \(whole) s")
        #expect(try client.reply()["result"] != nil)
        #expect(manager.next(seconds: 60) == ["WATCHDOG=1"])
        // Another process's watchdog is none of ours.
        #expect(daemon.terminate() == 0)
        while manager.next(seconds: 0) != nil {}
        try daemon.launch(
            environment: ["NOTIFY_SOCKET=\(manager.address)", "WATCHDOG_USEC=200000", "WATCHDOG_PID=1"])
        #expect(manager.nextWord()?.first == "READY=1")
        #expect(manager.next(seconds: 0.5) == nil)
    }

    private static let hasActivation = access("/usr/bin/systemd-socket-activate", X_OK) == 0

    /// Runs the daemon behind systemd-socket-activate, which waits for a client, and calls `body` meanwhile.
    /// - Returns: what the two wrote to standard error.
    private func activate(
        _ sockets: [(name: String, file: String)], _ configuration: String, _ body: () throws -> Void
    ) throws -> String {
        TemporaryDaemon.write(configuration, to: daemon.root + "/config.json")
        let listen = sockets.map { "-l \(daemon.root)/\($0.file)" }.joined(separator: " ")
        let names = sockets.map(\.name).joined(separator: ":")
        let log = daemon.root + "/activation.log"
        let started = try Outsider.run(
            """
            systemd-socket-activate -E KURA_DUMPABLE=1 \(listen) --fdname=\(names) \(TemporaryDaemon.binary) --profile small \
            --data-dir \(daemon.data) --config \(daemon.root)/config.json >\(log) 2>&1 & echo $!; \
            for i in $(seq 6000); do [ -S \(daemon.root)/\(sockets.last!.file) ] && exit; sleep 0.01; done
            """)
        let pid = try #require(pid_t(started.output.prefix { $0.isNumber }))
        defer { Glibc.kill(pid, SIGKILL) }
        try body()
        Glibc.kill(pid, SIGTERM)
        let deadline = now() + 60
        while Glibc.kill(pid, 0) == 0, now() < deadline { usleep(10_000) }
        return TemporaryDaemon.contents(log).map { String(decoding: $0, as: UTF8.self) } ?? ""
    }

    @Test(.enabled(if: hasActivation, "systemd-socket-activate is not installed"))
    func `passed sockets are for the configured one of their name, or for the role of their name`() throws {
        let log = try activate(
            [("admin", "a.sock"), ("apps", "b.sock")],
            "{\"roles\":{\"app\":{}},\"sockets\":[{\"name\":\"apps\",\"role\":\"app\"}]}"
        ) {
            let admin = try Client(path: daemon.root + "/a.sock")
            #expect(try admin.result("session.hello")["role"]?.text == "admin")
            #expect(try Client(path: daemon.root + "/b.sock").result("session.hello")["role"]?.text == "app")
            let status = try admin.result("storage.status")
            #expect(
                status["sockets"]?.elements.map { $0["name"]?.text } == ["apps", "admin"]
                    && status["sockets"]?[0]?["path"]?.text == daemon.root + "/b.sock")
            let pid = try #require(status["pid"]?.int)
            // Children and others do not get them by accident, nor believe that they have.
            let flags =
                TemporaryDaemon.contents("/proc/\(pid)/fdinfo/3").map { String(decoding: $0, as: UTF8.self) } ?? ""
            let octal = flags.split(separator: "\n").first { $0.hasPrefix("flags:") }?.split(separator: "\t").last ?? ""
            #expect(Int(octal, radix: 8).map { $0 & Int(O_CLOEXEC) != 0 } == true, "\(flags)")
        }
        #expect(log.contains("draining"), "\(log)")
        #expect(access(daemon.root + "/a.sock", F_OK) == 0, "the file is the manager's")
    }

    @Test(
        .enabled(if: hasActivation, "systemd-socket-activate is not installed"),
        arguments: ["{}", "{\"sockets\":[{\"name\":\"admin\",\"role\":\"admin\"}]}"])
    func `several passed sockets of one name are all listened to`(configuration: String) throws {
        let files = ["a.sock", "b.sock"]
        let log = try activate(files.map { ("admin", $0) }, configuration) {
            for file in files {
                let client = try Client(path: daemon.root + "/" + file)
                #expect(try client.result("session.hello")["role"]?.text == "admin")
                let sockets = try client.result("storage.status")["sockets"]?.elements ?? []
                #expect(sockets.map { $0["path"]?.text } == files.map { daemon.root + "/" + $0 })
            }
        }
        #expect(log.contains("draining"), "\(log)")
    }

    @Test(.enabled(if: hasActivation, "systemd-socket-activate is not installed"))
    func `a reload gives passed sockets their new roles`() throws {
        func configuration(_ role: String, mode: String) -> String {
            "{\"roles\":{\"one\":{},\"two\":{}},\"sockets\":[{\"name\":\"apps\",\"mode\":\"\(mode)\",\"role\":\"\(role)\"}]}"
        }
        let log = try activate([("apps", "a.sock"), ("admin", "b.sock")], configuration("one", mode: "0600")) {
            let client = try Client(path: daemon.root + "/a.sock")
            #expect(try client.result("session.hello")["role"]?.text == "one")
            let admin = try Client(path: daemon.root + "/b.sock")
            let pid = try #require(try admin.result("storage.status")["pid"]?.int)
            func reload(_ text: String, until holds: () throws -> Bool) throws {
                TemporaryDaemon.write(text, to: daemon.root + "/config.json")
                Glibc.kill(pid_t(pid), SIGHUP)
                let deadline = now() + 60
                while try !holds() {
                    guard now() < deadline else {
                        Issue.record("the new role is not in force")
                        return
                    }
                    usleep(5000)
                }
            }
            // Its file is the manager's, whatever the configuration says of permissions.
            try reload(configuration("two", mode: "0660")) {
                try client.result("session.hello")["role"]?.text == "two"
            }
            #expect(try Client(path: daemon.root + "/a.sock").result("session.hello")["role"]?.text == "two")
            #expect(try admin.result("session.hello")["role"]?.text == "admin")
        }
        #expect(log.contains("configuration read again") && !log.contains("keeps its roles"), "\(log)")
    }

    @Test(.enabled(if: hasActivation, "systemd-socket-activate is not installed"))
    func `a passed socket that nothing is called like, or that is none of ours, is refused`() throws {
        let unknown = try activate([("web", "a.sock")], "{}") {
            let client = try Client(path: daemon.root + "/a.sock")
            #expect(try client.line() == nil)
        }
        #expect(unknown.contains("a socket called \\\"web\\\" was passed"), "\(unknown)")
        let (status, output) = try Outsider.run(
            "LISTEN_FDS=1 bash -c 'export LISTEN_PID=$$; exec 3</dev/null; exec \(TemporaryDaemon.binary) --ephemeral'")
        #expect(status == 2)
        #expect(output.contains("descriptor 3 was passed and is no listening stream socket"), "\(output)")
        let log = daemon.root + "/foreign.log"
        // Signals are blocked in what a thread of the tests starts, which the daemon alone does not mind.
        let foreign = try Outsider.run(
            """
            (export LISTEN_FDS=1 LISTEN_PID=1; exec 3</dev/null >\(log) 2>&1; \
            exec \(TemporaryDaemon.binary) --ephemeral --socket \(daemon.socket)) & \
            for i in $(seq 6000); do grep -q listening \(log) && break; sleep 0.01; done; kill $!; wait $!; cat \(log)
            """)
        #expect(foreign.output.contains("listening"), "another process's: \(foreign.output)")
    }
}
