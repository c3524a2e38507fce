import Glibc
import Testing

@testable import KuraServer

@Suite struct JournalTests {
    @Test func `a line has no control characters, whatever is in its fields`() throws {
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        defer { for end in ends { close(end) } }
        let hostile = "/tmp/t\u{1B}[8m;rm -rf x\u{1B}]0;y\u{07}\n\u{7F}\u{9B}31m\u{202E}é"
        Journal(threshold: .info, descriptor: ends[1]).log(.warning, "event", [("path", hostile)])
        var chunk = [UInt8](repeating: 0, count: 1 << 12)
        let count = read(ends[0], &chunk, chunk.count)
        let line = String(decoding: chunk[..<max(count, 0)], as: UTF8.self)
        #expect(line.hasSuffix("\n"))
        #expect(
            !line.dropLast().unicodeScalars.contains { $0.properties.generalCategory == .control || $0 == "\u{202E}" },
            "\(line)")
        let escaped = #"\u001b[8m;rm -rf x\u001b]0;y\u0007\n\u007f\u009b31m\u202eé"#
        #expect(line.lowercased().contains(escaped), "\(line)")
        #expect(try JSON(String(line.dropLast()))["path"]?.text == hostile)
    }

    @Test func `a reader that stops reading holds nobody up, and learns how much it has missed`() throws {
        var ends: [Int32] = [0, 0]
        let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        try #require(socketpair(AF_UNIX, type, 0, &ends) == 0)
        defer { for end in ends { close(end) } }
        let journal = Journal(threshold: .info, descriptor: ends[1])
        // Far more than a socket holds.
        for number in 0..<5000 { journal.log(.warning, "event", [("number", String(number))]) }
        var text: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 1 << 16)
        func drain() {
            while true {
                let count = read(ends[0], &chunk, chunk.count)
                guard count > 0 else { return }
                text += chunk[..<count]
            }
        }
        drain()
        journal.log(.warning, "event", [("number", "last")])
        journal.log(.warning, "event", [("long", String(repeating: "x", count: 10_000))])
        drain()
        let lines = String(decoding: text, as: UTF8.self).split(separator: "\n")
        #expect(lines.allSatisfy { $0.utf8.count < 4096 })
        // Each is there or counted.
        let last = try JSON(String(lines[lines.count - 2]))
        #expect(last["number"]?.text == "last")
        #expect(last["linesLost"]?.text == String(5000 - (lines.count - 2)))
    }
}
