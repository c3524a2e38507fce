/// A walk over all rows of the model cache, and behind it over the marks of the namespaces: where it is, and when the next one begins.
struct ModelSweep {
    /// The next row; 0 while no sweep is under way.
    private(set) var next: UInt32 = 0
    /// The store's sequence when it began: marks from before have been applied when it ends.
    private(set) var began: UInt64 = 0
    private(set) var isAgainWanted = false
    /// Namespaces that it is about; nil: all.
    private(set) var only: Set<UInt32>?
    private(set) var progress = CacheSweep()
    var nextAt: UInt64 = 0
    /// Behind the rows: the namespace whose marks are looked at, and which of its tags is next.
    private(set) var namespace: UInt32 = 0
    private(set) var tag = 0
    /// Bytes of entries that have gone with their files, and are still to be swept.
    var clearedBytes = 0

    /// Nanoseconds between two sweeps that nobody asked for.
    private static let pause: UInt64 = 60_000_000_000

    var isUnderWay: Bool { next > 0 }

    /// Begins one, or has one that is under way made anew.
    /// `end`: behind the last row. `only`: namespaces that it is about; empty: there is nothing to be done.
    mutating func begin(of end: UInt32, sequence: UInt64, only numbers: Set<UInt32>? = nil) {
        guard !isUnderWay else { return isAgainWanted = true }
        guard numbers?.isEmpty != true else { return progress = CacheSweep() }
        next = 1
        began = sequence
        only = numbers
        progress = CacheSweep(isRunning: true, total: Int(end) - 1)
    }

    /// - Returns: nanoseconds until one begins by itself; 0 when it is time.
    mutating func wait(_ time: UInt64) -> UInt64 {
        if nextAt == 0 { nextAt = time }
        return nextAt > time ? nextAt - time : 0
    }

    /// Whether it is about a namespace.
    func concerns(_ namespace: UInt32) -> Bool { only?.contains(namespace) ?? true }

    /// A row has been looked at.
    mutating func pass() {
        next += 1
        progress.done = min(Int(next) - 1, progress.total)
    }

    /// A row goes that counts as so many bytes.
    mutating func noteRemoved(bytes: Int) {
        progress.removed += 1
        progress.bytes += bytes
    }

    /// Marks of a namespace have been looked at.
    /// `tag`: the one to go on with; nil: that was all.
    mutating func passMarks(until tag: Int?) {
        self.tag = tag ?? 0
        if tag == nil { namespace += 1 }
    }

    /// It is through.
    /// - Returns: whether another one is wanted.
    mutating func end(_ time: UInt64) -> Bool {
        next = 0
        // All are swept when it is their time.
        if only == nil { nextAt = time + Self.pause }
        only = nil
        progress.isRunning = false
        (namespace, tag) = (0, 0)
        clearedBytes = 0
        defer { isAgainWanted = false }
        return isAgainWanted
    }
}
