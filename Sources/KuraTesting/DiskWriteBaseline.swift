import Glibc
import KuraBytes
import KuraClient
import KuraProtocol

/// What operations are known to write, in a file that is committed beside the tests: XCTest's `XCTStorageMetric` and its baselines, without Xcode.
///
/// The file is one JSON object with a member a measurement:
///
///     {
///       "saving 1,000 notes": {"bytes": 301544, "log": 172032, "tables": 129512, "caches": 0, "tolerance": 0.1}
///     }
///
/// With `KURA_RECORD_DISK_WRITES=1` in the environment `check` writes what was measured into it. Tests that share a file record in turn.
public struct DiskWriteBaseline: Sendable {
    private let path: String
    private let tolerance: Double
    private let isRecording: Bool

    /// - Parameters:
    ///   - path: the file's.
    ///   - tolerance: by which part more may be written than is recorded; 0.1 is a tenth.
    public init(file path: String, tolerance: Double = 0.1) {
        // Safety: a name that ends with a zero; what it is lies in the environment, which tests do not change, and ends with a zero too.
        let isRecording = unsafe getenv("KURA_RECORD_DISK_WRITES").map { unsafe String(cString: $0) } == "1"
        self.init(file: path, tolerance: tolerance, isRecording: isRecording)
    }

    init(file path: String, tolerance: Double, isRecording: Bool) {
        self.path = path
        self.tolerance = tolerance
        self.isRecording = isRecording
    }

    /// Compares what was measured with what is recorded under the name, or records it.
    /// - Parameters:
    ///   - name: of the operation, as the file has it.
    ///   - measured: what it has written.
    ///   - tolerance: of this one alone; it is recorded too, and what is recorded counts.
    /// - Returns: by how many percent less was written than is recorded; below 0 when it was more.
    /// - Throws: `DiskWriteFault` when more was written than the tolerance allows, when nothing is recorded, or when the file cannot be used.
    @discardableResult
    public func check(_ name: String, _ measured: DiskWrites, tolerance: Double? = nil) throws(DiskWriteFault) -> Int {
        var entries = try read()
        let place = entries.firstIndex { $0.name == name }
        guard !isRecording else {
            let entry = Entry(name: name, written: measured, tolerance: tolerance ?? self.tolerance)
            if let place { entries[place] = entry } else { entries.append(entry) }
            try write(entries)
            return 0
        }
        guard let place else {
            throw DiskWriteFault(
                "\(path) has no baseline for \"\(name)\", which wrote \(measured): record it with KURA_RECORD_DISK_WRITES=1"
            )
        }
        let known = entries[place]
        let bytes = known.written.bytes
        let percent = bytes > 0 ? (bytes - measured.bytes) * 100 / bytes : measured.bytes > 0 ? -100 : 0
        guard Double(measured.bytes) > Double(bytes) * (1 + known.tolerance) else { return percent }
        throw DiskWriteFault(
            """
            "\(name)" wrote \(-percent) % more than its baseline, \(Int(known.tolerance * 100)) % are allowed:
              measured \(measured)
              baseline \(known.written.bytes) bytes (log \(known.written.log), tables \(known.written.tables), caches \(known.written.caches))
              when that is meant, record it anew with KURA_RECORD_DISK_WRITES=1
            """)
    }

    // MARK: The file

    private struct Entry {
        var name: String
        var written: DiskWrites
        var tolerance: Double
    }

    /// A file that is not there has nothing recorded.
    private func read() throws(DiskWriteFault) -> [Entry] {
        guard let text = contents() else { return [] }
        guard let object = JSONObject(text) else { throw DiskWriteFault("\(path) is no JSON object") }
        var entries: [Entry] = []
        for (name, value) in object.entries {
            guard let entry = JSONObject(value), let log = entry.integer("log"), let tables = entry.integer("tables"),
                let caches = entry.integer("caches"),
                let tolerance = entry["tolerance"].flatMap({ Double(String(decoding: $0, as: UTF8.self)) })
            else { throw DiskWriteFault("\(path): \"\(name)\" is no baseline") }
            let written = DiskWrites(log: Int(log), tables: Int(tables), caches: Int(caches))
            entries.append(Entry(name: name, written: written, tolerance: tolerance))
        }
        return entries
    }

    private func write(_ entries: [Entry]) throws(DiskWriteFault) {
        var out = ByteBuffer()
        out.append("{\n")
        let sorted = entries.sorted { $0.name < $1.name }
        for (position, entry) in sorted.enumerated() {
            let written = entry.written
            out.append("  ")
            out.append(quoted: entry.name)
            let text =
                ": {\"bytes\": \(written.bytes), \"log\": \(written.log), \"tables\": \(written.tables), "
                + "\"caches\": \(written.caches), \"tolerance\": \(entry.tolerance)}\(position < sorted.count - 1 ? "," : "")\n"
            out.append(Array(text.utf8))
        }
        out.append("}\n")
        let bytes = Array(out.bytes)
        // Safety: the path is lent as a C string, the bytes with their length, for the calls; the file is closed once.
        guard let file = unsafe fopen(path, "we") else { throw DiskWriteFault("\(path) cannot be written") }
        let count = unsafe fwrite(bytes, 1, bytes.count, file)
        guard unsafe fclose(file) == 0, count == bytes.count else { throw DiskWriteFault("\(path) cannot be written") }
    }

    private func contents() -> [UInt8]? {
        // Safety: the path is lent as a C string; `fread` gets a buffer with its length; the file is closed once.
        guard let file = unsafe fopen(path, "re") else { return nil }
        defer { unsafe fclose(file) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 16 << 10)
        while true {
            let count = unsafe fread(&chunk, 1, chunk.count, file)
            guard count > 0 else { return bytes }
            bytes += chunk[..<count]
        }
    }
}
