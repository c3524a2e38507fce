import Glibc
import KuraClient
import KuraTesting

/// What a process is like that hosts daemons.
enum Hosting {
    // MARK: Beginning and ending

    static func cycles(_ count: Int) async throws {
        // What is there once a process, and stays.
        for number in 0..<10 { _ = try await cycle(number) }
        let before = settled(nil)
        var starts: [Duration] = []
        for number in 0..<count { starts.append(try await cycle(number)) }
        let after = settled(before)
        if after.descriptors > before.descriptors || after.threads > before.threads + 8 { tellWhatIsThere() }
        Peer.say(
            "descriptors \(after.descriptors - before.descriptors) threads \(after.threads - before.threads) "
                + "named \(after.named.isEmpty ? "none" : after.named.joined(separator: ",")) "
                + "resident \(after.resident - before.resident) start \(starts.sorted()[count / 2])")
    }

    /// One daemon, used a little by two clients, and gone. Ended by hand or by letting go of it.
    /// - Returns: how long it took until its first client was connected.
    private static func cycle(_ number: Int) async throws -> Duration {
        let directory: String
        let started: Duration
        do {
            let begun = ContinuousClock.now
            let kura = try await Kura.inMemory()
            started = ContinuousClock.now - begun
            directory = String(kura.path[..<kura.path.lastIndex(of: "/")!])
            let other = try await Kura.connect(to: kura.path)
            try await kura.settings["app"].increment(SettingKey("count", default: 0))
            try await kura.secrets["mail"].put("ada", Secret(text: "x"))
            let notes = kura.documents("notes", of: Note.self)
            try await notes.put(Note(id: "a", text: "b"))
            _ = try await kura.blobs["images"].put([UInt8](repeating: 7, count: 100_000), as: "a")
            _ = try await kura.blobs["images"].get("a")
            let found = try await other.documents("notes", of: Note.self).find { $0.text == "b" }.all()
            let count = try await other.settings["app"].get(SettingKey("count", default: 0))
            if found.count != 1 || count != 1 { Peer.say("a daemon has not what was stored") }
            if number % 2 == 0 { await kura.close() }
            await other.close()
        }
        // Without `close` it goes with the client, which a thread of its own may let go of last.
        for _ in 0..<6000 where access(directory, F_OK) == 0 { usleep(5000) }
        if access(directory, F_OK) == 0 { Peer.say("\(directory) is still there") }
        return started
    }

    private struct Note: Codable, Identifiable, Sendable {
        var id: String
        var text: String
    }

    private struct Facts {
        var descriptors = 0
        var threads = 0
        /// The daemon's threads, but those that serve all daemons of the process.
        var named: [String] = []
        /// KiB.
        var resident = 0
    }

    /// What there is, once it is no more than before: clients' threads end by themselves.
    private static func settled(_ before: Facts?) -> Facts {
        var facts = look()
        for _ in 0..<3000 {
            let isSettled = facts.named.isEmpty && facts.descriptors <= before?.descriptors ?? .max
            if isSettled, facts.threads <= before?.threads ?? .max { break }
            // Sleeping as a task would make descriptors of its own.
            usleep(10_000)
            facts = look()
        }
        return facts
    }

    private static func tellWhatIsThere() {
        for number in names(in: "/proc/self/fd") {
            var target = [UInt8](repeating: 0, count: 256)
            let count = target.withUnsafeMutableBytes {
                readlink("/proc/self/fd/\(number)", $0.baseAddress!.assumingMemoryBound(to: CChar.self), $0.count)
            }
            Peer.say("descriptor \(number) \(String(decoding: target.prefix(max(count, 0)), as: UTF8.self))")
        }
        for thread in names(in: "/proc/self/task") {
            Peer.say("thread \(thread) " + text(of: "/proc/self/task/\(thread)/comm").split(separator: "\n").joined())
        }
    }

    private static func look() -> Facts {
        var facts = Facts()
        // The descriptor that the directory is read by is one of them, each time.
        facts.descriptors = names(in: "/proc/self/fd").count
        for thread in names(in: "/proc/self/task") {
            let name = text(of: "/proc/self/task/\(thread)/comm").split(separator: "\n").first.map(String.init) ?? ""
            if name == "kura-closer" { continue }
            facts.threads += 1
            if name.hasPrefix("kura-"), name != "kura-peer" { facts.named.append(name) }
        }
        let line = text(of: "/proc/self/status").split(separator: "\n").first { $0.hasPrefix("VmRSS:") }
        facts.resident = line?.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        return facts
    }

    // MARK: The process itself

    /// What a daemon would change of its own process.
    static func host() async throws {
        umask(0o022)
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        limit.rlim_cur = 256
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        // What a daemon would take out of its environment, and what would end it at its first sync.
        setenv("NOTIFY_SOCKET", "/tmp/kura-nobody", 1)
        setenv("WATCHDOG_USEC", "1000", 1)
        setenv("KURA_FAULTS", "log.sync:kill:1", 1)
        setenv("KURA_SOCKET", "/tmp/kura-nobody", 1)
        let before = state()
        let kura = try await Kura.inMemory()
        try await kura.settings["app"].put("a", 1)
        let during = state()
        for (name, value) in during where before[name] != value {
            Peer.say("\(name) was \(before[name] ?? "none") and is \(value)")
        }
        Peer.say(during.count == before.count && before.count > 10 ? "unchanged" : "not known")
        // The process's own, still: it ends of it.
        kill(getpid(), SIGTERM)
        sleep(60)
        _ = kura
    }

    private static func state() -> [String: String] {
        var state: [String: String] = [:]
        // Of this thread: the first one blocks signals and lets them go again while it makes room for the others.
        for line in text(of: "/proc/thread-self/status").split(separator: "\n") {
            let parts = line.split(separator: ":", maxSplits: 1)
            if ["Umask", "SigBlk", "SigIgn", "SigCgt", "NoNewPrivs", "Seccomp"].contains(parts[0]) {
                state[String(parts[0])] = String(parts[1])
            }
        }
        for line in text(of: "/proc/self/limits").split(separator: "\n").dropFirst() {
            state[String(line.prefix(24))] = String(line)
        }
        for name in ["NOTIFY_SOCKET", "WATCHDOG_USEC", "KURA_FAULTS", "KURA_SOCKET"] {
            state[name] = getenv(name).map { String(cString: $0) } ?? "none"
        }
        var directory = [CChar](repeating: 0, count: 4096)
        state["directory"] = getcwd(&directory, directory.count).map { String(cString: $0) } ?? "none"
        // Dumped, and read by others of the user, as before: what is not is root's alone.
        var information = stat()
        stat("/proc/self/environ", &information)
        state["owner"] = "\(information.st_uid)"
        state["nice"] = "\(getpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0))"
        return state
    }

    // MARK: Files

    private static func names(in directory: String) -> [String] {
        guard let entries = opendir(directory) else { return [] }
        defer { closedir(entries) }
        var names: [String] = []
        while let entry = readdir(entries) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if !name.hasPrefix(".") { names.append(name) }
        }
        return names
    }

    private static func text(of path: String) -> String {
        guard let file = fopen(path, "re") else { return "" }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 64 << 10)
        let count = fread(&bytes, 1, bytes.count, file)
        return String(decoding: bytes[..<count], as: UTF8.self)
    }
}
