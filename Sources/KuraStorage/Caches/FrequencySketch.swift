import KuraBytes

/// How often something was asked for lately, about: four counters of four bits each for what has been seen, of which the smallest counts. All of them are
/// halved now and then, so that what was popular once is forgotten.
///
/// The four lie in one cache line, so a hit costs one. Source: TinyLFU (Einziger, Friedman, Manes, ACM TOS 2017), 3.2–3.4; the blocks are
/// Caffeine's (`FrequencySketch`). Belongs to the loop.
final class FrequencySketch {
    /// Lines of eight words, each with sixteen counters.
    private let words: CellRow<UInt64>
    private let lineMask: UInt64
    private var additions = 0
    private let sampleSize: Int

    /// `counters`: about how many keys there will be.
    init(counters: Int) {
        var lines = 64
        while lines * 32 < counters { lines *= 2 }
        words = CellRow(repeating: 0, count: lines * 8)
        lineMask = UInt64(lines - 1)
        sampleSize = lines * 32 * 10
    }

    /// Has the line fetched that `add` will change.
    func prefetch(_ hash: UInt64) { words.prefetch(Int(hash & lineMask) * 8) }

    /// What is behind `hash` was asked for.
    func add(_ hash: UInt64) {
        let line = Int(hash & lineMask) * 8
        var choice = hash >> 32
        var hasGrown = false
        for _ in 0..<4 {
            // Of a line's eight words one pair each, of a word's sixteen counters any.
            let (word, shift) = (line + Int(choice & 7), (choice >> 3 & 15) * 4)
            if words[word] >> shift & 15 < 15 {
                words[word] += 1 << shift
                hasGrown = true
            }
            choice = (choice &* 0x9E37_79B9_7F4A_7C15) >> 21
        }
        guard hasGrown else { return }
        additions += 1
        if additions >= sampleSize { halve() }
    }

    /// 0 to 15.
    func frequency(_ hash: UInt64) -> Int {
        let line = Int(hash & lineMask) * 8
        var choice = hash >> 32
        var smallest: UInt64 = 15
        for _ in 0..<4 {
            smallest = min(smallest, words[line + Int(choice & 7)] >> ((choice >> 3 & 15) * 4) & 15)
            choice = (choice &* 0x9E37_79B9_7F4A_7C15) >> 21
        }
        return Int(smallest)
    }

    private func halve() {
        for word in 0..<words.count { words[word] = words[word] >> 1 & 0x7777_7777_7777_7777 }
        additions /= 2
    }
}
