import Glibc

/// How much memory this process may use, as the kernel's control groups have it.
///
/// The smallest of: `memory.max` of the process's cgroup (v2) and of every one above it; `memory.limit_in_bytes` likewise (v1);
/// the machine's own memory. Sources: Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/memory.rst of Linux,
/// cgroups(7), proc(5).
enum HostMemory {
    /// Bytes; the smallest bound that is found, at least a mebibyte.
    /// `root`: the directory in which `proc` and `sys` are looked for.
    static func limit(root: String = "") -> Int {
        var limit = number("MemTotal:", in: root + "/proc/meminfo").map { $0 << 10 } ?? Int.max
        forEachGroup(root) { group, isFirstVersion in
            let name = isFirstVersion ? "memory.limit_in_bytes" : "memory.max"
            // "max" is no number; v1 writes its largest one.
            if let line = lines(of: group + "/" + name).first, let bytes = Int(line) { limit = min(limit, bytes) }
        }
        return max(limit, 1 << 20)
    }

    /// Bytes that can still be taken: of every group its bound less what it uses, file pages that the kernel can take back counted as
    /// free; and what the machine has available.
    /// `root`: the directory in which `proc` and `sys` are looked for.
    static func free(root: String = "") -> Int {
        var free = number("MemAvailable:", in: root + "/proc/meminfo").map { $0 << 10 } ?? Int.max
        forEachGroup(root) { group, isFirstVersion in
            let name = isFirstVersion ? "memory.limit_in_bytes" : "memory.max"
            guard let line = lines(of: group + "/" + name).first, let limit = Int(line) else { return }
            let usage = isFirstVersion ? "memory.usage_in_bytes" : "memory.current"
            guard let line = lines(of: group + "/" + usage).first, let used = Int(line) else { return }
            let prefix = isFirstVersion ? "total_" : ""
            let files = ["inactive_file", "active_file"].reduce(0) {
                $0 + (number(prefix + $1, in: group + "/memory.stat") ?? 0)
            }
            free = min(free, max(0, limit - max(0, used - files)))
        }
        return free
    }

    /// Walks from the process's groups up to the mounts' roots, which in a container are the container's own groups.
    private static func forEachGroup(_ root: String, _ body: (String, _ isFirstVersion: Bool) -> Void) {
        for line in lines(of: root + "/proc/self/cgroup") {
            let parts = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
            guard parts.count == 3 else { continue }
            let isFirstVersion = !parts[1].isEmpty
            guard !isFirstVersion || parts[1].split(separator: ",").contains("memory") else { continue }
            let mount = root + (isFirstVersion ? "/sys/fs/cgroup/memory" : "/sys/fs/cgroup")
            var groups = parts[2].split(separator: "/").map(String.init)
            // A path out of another namespace's root shows nothing of ours.
            if groups.contains("..") { groups = [] }
            while true {
                body(groups.isEmpty ? mount : mount + "/" + groups.joined(separator: "/"), isFirstVersion)
                if groups.isEmpty { break }
                groups.removeLast()
            }
        }
    }

    /// The number behind a word at the beginning of a line.
    private static func number(_ word: String, in path: String) -> Int? {
        for line in lines(of: path) where line.hasPrefix(word + " ") {
            let words = line.split(separator: " ")
            return words.count > 1 ? Int(words[1]) : nil
        }
        return nil
    }

    private static func lines(of path: String) -> [String] {
        guard let text = Configuration.contents(of: path) else { return [] }
        return String(decoding: text, as: UTF8.self).split(separator: "\n").map(String.init)
    }
}
