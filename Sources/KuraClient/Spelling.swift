/// Finds what was probably meant.
public enum Spelling {
    /// How many letters must be inserted, removed, replaced or swapped with their neighbour to make one word of the other.
    ///
    /// Source: optimal string alignment, a restricted Damerau-Levenshtein distance.
    public static func distance(_ left: String, _ right: String) -> Int {
        let left = Array(left.utf8)
        let right = Array(right.utf8)
        if left.isEmpty || right.isEmpty { return max(left.count, right.count) }
        var beforeLast: [Int] = []
        var last = Array(0...right.count)
        for row in 1...left.count {
            var current = [row] + repeatElement(0, count: right.count)
            for column in 1...right.count {
                let isSame = left[row - 1] == right[column - 1]
                current[column] = min(
                    last[column] + 1, current[column - 1] + 1, last[column - 1] + (isSame ? 0 : 1))
                if row > 1, column > 1, left[row - 1] == right[column - 2], left[row - 2] == right[column - 1] {
                    current[column] = min(current[column], beforeLast[column - 2] + 1)
                }
            }
            beforeLast = last
            last = current
        }
        return last[right.count]
    }

    /// The nearest of `candidates` when it is near enough to be worth asking about: a third of the word at most, case aside.
    public static func nearest(to word: String, among candidates: [String]) -> String? {
        let lower = word.lowercased()
        let measured = candidates.map { (word: $0, distance: distance(lower, $0.lowercased())) }
        guard let best = measured.min(by: { $0.distance < $1.distance }) else { return nil }
        return best.distance <= max(1, min(word.utf8.count, best.word.utf8.count) / 3) ? best.word : nil
    }
}
