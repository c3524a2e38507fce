import SQLite

/// Whose the log's bytes of the minute are that is not over, shared out second by second.
///
/// A commit takes a page or more, however little is in it: were a minute shared out as a whole, whoever writes one by one would be paid for by whoever
/// writes much in the same minute.
struct LogShares {
    /// By who has asked.
    private(set) var parts: [WriteBill.Key: Int] = [:]
    /// What had been written and asked for when this was looked at last.
    private var bytes: Int
    private var tallies: [WriteBill.Key: WriteTally] = [:]

    /// `bytes`: given to the log up to now.
    init(bytes: Int = 0) { self.bytes = bytes }

    /// Shares out what the log was given since the last look, among those who have asked for something since.
    /// `asked`: since the beginning of the minute.
    mutating func look(bytes: Int, _ asked: [(key: WriteBill.Key, tally: WriteTally)]) {
        defer { self.bytes = bytes }
        var news: [(key: WriteBill.Key, weight: Int)] = []
        for (key, tally) in asked where key.store.isDurable {
            let weight = (tally - (tallies[key] ?? WriteTally())).weight
            if weight > 0 { news.append((key, weight)) }
            tallies[key] = tally
        }
        let all = news.reduce(0) { $0 + $1.weight }
        // Nobody has: it is late, and shared with the minute.
        guard all > 0, bytes > self.bytes else { return }
        for (key, weight) in news {
            parts[key, default: 0] += Int(Double(bytes - self.bytes) * Double(weight) / Double(all))
        }
    }

    /// What the log was given since the process started, but for room that is written in advance.
    static var written: Int {
        let counts = CountingVFS.snapshot()
        return counts[.log].bytesWritten - counts[.log, .room].bytesWritten
    }
}
