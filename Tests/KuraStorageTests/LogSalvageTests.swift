import Glibc
import KuraBytes
import Testing

@testable import KuraStorage

@Suite struct LogSalvageTests {
    private let directory = TemporaryDirectory(prefix: "kura-log-salvage")

    @Test func `a file that is no segment is told of, and none of its bytes are copied`() throws {
        let (log, scratch) = (directory.path + "/log", directory.path + "/scratch")
        for path in [log, scratch] { try FileSystem.makeDirectory(path) }
        _ = try Segment(creating: 1, in: log, capacity: Segment.leastCapacity, recycled: nil)
        let stray = Segment.path(log, 2)
        let descriptor = open(stray, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        defer { close(descriptor) }
        try [UInt8](repeating: 0x5A, count: Segment.leastCapacity).withBytes {
            try FileSystem.write(descriptor, $0, at: 0, path: stray)
        }
        var told: [String] = []
        var salvage = LogSalvage(
            from: log, scratch: scratch, to: StorageConfiguration(dataDirectory: directory.path + "/data"), after: 0,
            isTaking: false
        ) { told.append($0) }
        try salvage.run()
        let reason = "\(stray) is no segment of a log: neither of its two heads is whole"
        #expect(told == ["segment 2 of the log cannot be read: \(reason)"])
        #expect(FileSystem.exists(Segment.path(scratch, 1)))
        #expect(!FileSystem.exists(Segment.path(scratch, 2)))
    }
}
