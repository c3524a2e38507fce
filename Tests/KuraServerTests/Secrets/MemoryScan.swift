import Glibc
import KuraBytes

/// Looks for bytes in all of a process's memory.
enum MemoryScan {
    /// Which of the texts are in any mapping that can be read, and where.
    static func find(_ texts: [String], in pid: pid_t) -> [String] {
        let memory = open("/proc/\(pid)/mem", O_RDONLY | O_CLOEXEC)
        guard memory >= 0 else { return ["/proc/\(pid)/mem cannot be opened: \(errno)"] }
        defer { close(memory) }
        var found: [String] = []
        for mapping in mappings(of: pid) {
            // Pieces overlap, so that what lies across two of them is found.
            var start = mapping.start
            while start < mapping.end {
                let length = min(piece, mapping.end - start)
                found += find(texts, memory, start, length).map { "\($0), in \(mapping.name)" }
                if start + length >= mapping.end { break }
                start += length - overlap
            }
        }
        return found
    }

    private static let piece = 4 << 20
    private static let overlap = 4096

    private static func find(_ texts: [String], _ memory: Int32, _ start: Int, _ length: Int) -> [String] {
        var bytes = [UInt8](repeating: 0, count: length)
        let count = bytes.withUnsafeMutableBytes { pread(memory, $0.baseAddress, length, start) }
        guard count > 0 else { return [] }
        return bytes[..<count].withBytes { bytes in
            texts.compactMap { text in
                DirectoryScan.place(of: Array(text.utf8), in: bytes).map {
                    "\(text): \(DirectoryScan.surroundings(of: $0, in: bytes))"
                }
            }
        }
    }

    private static func mappings(of pid: pid_t) -> [(start: Int, end: Int, name: String)] {
        let text = String(decoding: TemporaryDaemon.contents("/proc/\(pid)/maps") ?? [], as: UTF8.self)
        return text.split(separator: "\n").compactMap { line in
            let fields = line.split(separator: " ", maxSplits: 5)
            let range = fields[0].split(separator: "-").compactMap { Int($0, radix: 16) }
            let name = fields.count > 5 ? String(fields[5]) : "memory"
            // The kernel's own pages are no memory of the process.
            guard range.count == 2, fields[1].hasPrefix("r"), !name.contains("[vvar"), !name.contains("[vsyscall")
            else { return nil }
            return (range[0], range[1], name)
        }
    }
}
