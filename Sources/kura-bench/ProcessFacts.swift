import Glibc

// Safety: `read` gets a buffer with its length.

/// What /proc tells of a process.
enum ProcessFacts {
    /// The whole of a small file; nil when it cannot be read.
    static func file(_ path: String) -> String? {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = unsafe read(descriptor, &chunk, chunk.count)
            guard count >= 0 else { return nil }
            if count == 0 { return String(decoding: bytes, as: UTF8.self) }
            bytes += chunk[0..<count]
        }
    }

    /// The number behind `name:` in a file of such lines; nil when there is none.
    static func number(_ name: String, in path: String) -> Int? {
        guard let text = file(path) else { return nil }
        for line in text.split(separator: "\n") where line.hasPrefix(name + ":") {
            let words = line.dropFirst(name.utf8.count + 1).split { $0 == " " || $0 == "\t" }
            return words.first.flatMap { Int($0) }
        }
        return nil
    }

    /// KiB of memory that are resident.
    static func residentKiB(_ pid: Int) throws -> Int {
        guard let size = number("VmRSS", in: "/proc/\(pid)/status") else {
            throw BenchError.failed("no VmRSS of process \(pid)")
        }
        return size
    }

    /// This process's environment as it was given at its start, `NAME=value` each.
    static func environment() -> [String] {
        (file("/proc/self/environ") ?? "").split(separator: "\0").map(String.init)
    }
}
