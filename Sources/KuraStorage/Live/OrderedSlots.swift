/// Numbers in an order that somebody else decides: found, put in and taken out without moving all that lie behind.
///
/// Runs of at most `runLimit` numbers, none empty: with n of them a change moves at most one run, and a rank is the sum of the
/// runs before it.
struct OrderedSlots {
    struct Place {
        fileprivate var run: Int
        fileprivate var offset: Int
    }
    private var runs: ContiguousArray<ContiguousArray<UInt32>> = []
    private(set) var count = 0
    private static let runLimit = 512

    /// Where the first number stands that is not before; the end when all are. `isBefore` is true for the front and false behind.
    func place(_ isBefore: (UInt32) -> Bool) -> Place {
        var (low, high) = (0, runs.count)
        while low < high {
            let middle = (low + high) / 2
            if isBefore(runs[middle][runs[middle].count - 1]) { low = middle + 1 } else { high = middle }
        }
        guard low < runs.count else { return Place(run: low, offset: 0) }
        let run = low
        (low, high) = (0, runs[run].count)
        while low < high {
            let middle = (low + high) / 2
            if isBefore(runs[run][middle]) { low = middle + 1 } else { high = middle }
        }
        return Place(run: run, offset: low)
    }

    subscript(_ place: Place) -> UInt32? { place.run < runs.count ? runs[place.run][place.offset] : nil }

    subscript(_ rank: Int) -> UInt32 {
        var left = rank
        var run = 0
        while left >= runs[run].count {
            left -= runs[run].count
            run += 1
        }
        return runs[run][left]
    }

    func rank(of place: Place) -> Int {
        var rank = place.offset
        for run in 0..<place.run { rank += runs[run].count }
        return rank
    }

    func before(_ place: Place) -> UInt32? {
        if place.offset > 0 { return runs[place.run][place.offset - 1] }
        return place.run > 0 ? runs[place.run - 1].last : nil
    }

    func after(_ place: Place) -> UInt32? {
        if place.offset + 1 < runs[place.run].count { return runs[place.run][place.offset + 1] }
        return place.run + 1 < runs.count ? runs[place.run + 1][0] : nil
    }

    mutating func insert(_ slot: UInt32, at place: Place) {
        count += 1
        var place = place
        if place.run == runs.count {
            guard place.run > 0 else {
                runs.append([slot])
                return
            }
            place = Place(run: place.run - 1, offset: runs[place.run - 1].count)
        }
        runs[place.run].insert(slot, at: place.offset)
        guard runs[place.run].count > Self.runLimit else { return }
        // What comes in order fills its runs; what comes anywhere halves them.
        let kept = place.offset == Self.runLimit ? Self.runLimit : Self.runLimit / 2
        runs.insert(ContiguousArray(runs[place.run][kept...]), at: place.run + 1)
        runs[place.run].removeSubrange(kept...)
    }

    mutating func remove(at place: Place) {
        count -= 1
        runs[place.run].remove(at: place.offset)
        if runs[place.run].isEmpty { runs.remove(at: place.run) }
    }

    mutating func removeLast() -> UInt32 {
        count -= 1
        let slot = runs[runs.count - 1].removeLast()
        if runs[runs.count - 1].isEmpty { runs.removeLast() }
        return slot
    }

    /// Calls `body` with the numbers from a rank on, until it returns false.
    func forEach(from rank: Int, _ body: (Int, UInt32) -> Bool) {
        var start = 0
        for run in runs {
            defer { start += run.count }
            guard start + run.count > rank else { continue }
            for offset in max(0, rank - start)..<run.count {
                guard body(start + offset, run[offset]) else { return }
            }
        }
    }
}
