import Synchronization

/// Segments that retention has let go, the oldest first.
///
/// The loop notes each before its file goes. Whoever misses a file may ask from any thread whether it went rightly.
package final class RetiredSegments: @unchecked Sendable {
    // `untold` is the loop's alone.

    private let newest = Atomic<Int>(0)
    /// What the tables have not been told of.
    private var untold: [Int]

    /// `untold`: segments that are gone and that the tables list.
    init(untold: [Int] = []) { self.untold = untold }

    var isUntold: Bool { !untold.isEmpty }

    /// The file may go from now on.
    func note(_ number: Int) {
        untold.append(number)
        newest.store(number, ordering: .releasing)
    }

    func takeUntold() -> [Int] {
        defer { untold = [] }
        return untold
    }

    /// Whether the segment's file is gone, or about to go. From any thread.
    package func contains(_ number: Int) -> Bool { number <= newest.load(ordering: .acquiring) }
}
