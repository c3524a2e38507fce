import Glibc
import Testing

@testable import KuraServer

@Suite struct HostMemoryTests {
    /// A directory that looks like a host's `proc` and `sys`.
    private func host(_ files: [String: String]) throws -> String {
        let root = try TemporaryDirectory.make("kura-host")
        for (path, text) in files {
            var directory = root
            for part in path.split(separator: "/").dropLast() {
                directory += "/" + part
                mkdir(directory, 0o700)
            }
            let file = try #require(fopen(root + "/" + path, "w"))
            fputs(text, file)
            fclose(file)
        }
        return root
    }

    private let machine = "MemTotal:        8388608 kB\nMemFree: 1 kB\n"

    @Test func `without a control group the machine's memory is the limit`() throws {
        #expect(HostMemory.limit(root: try host(["proc/meminfo": machine])) == 8 << 30)
    }

    @Test func `of nested groups of version 2 the smallest limit counts`() throws {
        let root = try host([
            "proc/meminfo": machine, "proc/self/cgroup": "0::/a/b/c\n", "sys/fs/cgroup/a/memory.max": "max\n",
            "sys/fs/cgroup/a/b/memory.max": "67108864\n", "sys/fs/cgroup/a/b/c/memory.max": "134217728\n",
        ])
        #expect(HostMemory.limit(root: root) == 64 << 20)
    }

    @Test func `in a container the mount's root is its group`() throws {
        let root = try host([
            "proc/meminfo": machine, "proc/self/cgroup": "0::/../../elsewhere\n",
            "sys/fs/cgroup/memory.max": "33554432\n",
        ])
        #expect(HostMemory.limit(root: root) == 32 << 20)
    }

    @Test func `groups of version 1 count as well, and their largest number is no limit`() throws {
        let group = "9:name=systemd:/\n4:cpu,memory:/x/y\n0::/\n"
        let limited = try host([
            "proc/meminfo": machine, "proc/self/cgroup": group,
            "sys/fs/cgroup/memory/x/y/memory.limit_in_bytes": "9223372036854771712\n",
            "sys/fs/cgroup/memory/x/memory.limit_in_bytes": "1073741824\n",
        ])
        #expect(HostMemory.limit(root: limited) == 1 << 30)
        let unlimited = try host([
            "proc/meminfo": machine, "proc/self/cgroup": group,
            "sys/fs/cgroup/memory/x/y/memory.limit_in_bytes": "9223372036854771712\n",
        ])
        #expect(HostMemory.limit(root: unlimited) == 8 << 30)
    }
}
