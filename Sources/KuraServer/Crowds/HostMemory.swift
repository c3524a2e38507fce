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
        var limit = total(root) ?? Int.max
        for line in lines(of: root + "/proc/self/cgroup") {
            let parts = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
            guard parts.count == 3 else { continue }
            let path = String(parts[2])
            if parts[1].isEmpty {
                limit = min(limit, smallest("memory.max", path, beneath: root + "/sys/fs/cgroup"))
            } else if parts[1].split(separator: ",").contains("memory") {
                limit = min(limit, smallest("memory.limit_in_bytes", path, beneath: root + "/sys/fs/cgroup/memory"))
            }
        }
        return max(limit, 1 << 20)
    }

    /// Walks from the group up to the mount's root, which in a container is the container's own group.
    private static func smallest(_ name: String, _ path: String, beneath mount: String) -> Int {
        var groups = path.split(separator: "/").map(String.init)
        // A path out of another namespace's root shows nothing of ours.
        if groups.contains("..") { groups = [] }
        var limit = Int.max
        while true {
            let group = groups.isEmpty ? mount : mount + "/" + groups.joined(separator: "/")
            // "max" is no number; v1 writes its largest one.
            if let line = lines(of: group + "/" + name).first, let bytes = Int(line) { limit = min(limit, bytes) }
            if groups.isEmpty { return limit }
            groups.removeLast()
        }
    }

    private static func total(_ root: String) -> Int? {
        for line in lines(of: root + "/proc/meminfo") where line.hasPrefix("MemTotal:") {
            let words = line.split(separator: " ")
            return words.count > 1 ? Int(words[1]).map { $0 << 10 } : nil
        }
        return nil
    }

    private static func lines(of path: String) -> [String] {
        guard let text = Configuration.contents(of: path) else { return [] }
        return String(decoding: text, as: UTF8.self).split(separator: "\n").map(String.init)
    }
}
