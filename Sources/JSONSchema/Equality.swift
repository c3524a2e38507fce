import KuraBytes
import KuraJSON
import KuraProtocol

/// Equality of JSON values by what they mean: numbers by value, strings with escapes resolved, members in any order.
///
/// Source: JSON Schema draft-07 core, 4.2.3.
struct Equality {
    /// Work that is left, shared with the validation; below zero nothing counts any more.
    var steps: Int

    mutating func areEqual(_ left: Int32, in ours: TapeView, _ right: Int32, in theirs: TapeView) -> Bool {
        steps -= 1
        let (mine, other) = (ours[left], theirs[right])
        guard mine.kind == other.kind, steps >= 0 else { return false }
        switch mine.kind {
        case .true, .false, .null: return true
        case .string:
            let bytes = ours.bytes(left)
            steps -= bytes.count >> 6
            return theirs.isSame(right, bytes)
        case .number:
            let (first, second) = (ours.bytes(left), theirs.bytes(right))
            if first.equals(second) { return true }
            steps -= (first.count + second.count) >> 3
            return Decimal.order(Decimal(first), Decimal(second)) == 0
        case .array:
            guard mine.count == other.count else { return false }
            var (at, place) = (left + 1, right + 1)
            while at < mine.next {
                guard areEqual(at, in: ours, place, in: theirs) else { return false }
                at = ours[at].next
                place = theirs[place].next
            }
            return true
        case .object:
            guard mine.count == other.count else { return false }
            return haveEqualMembers(left, in: ours, right, in: theirs)
        }
    }

    private mutating func haveEqualMembers(
        _ left: Int32, in ours: TapeView, _ right: Int32, in theirs: TapeView
    ) -> Bool {
        var at = left + 1
        // Members mostly come in the same order: the next one is looked at before all are.
        var expected = right + 1
        while at < ours[left].next {
            let name = ours.bytes(at)
            let value: Int32
            if expected < theirs[right].next, theirs.isSame(expected, name) {
                value = expected + 1
            } else {
                steps -= Int(theirs[right].count) >> 1
                guard steps >= 0, let found = theirs.member(name, of: right) else { return false }
                value = found
            }
            guard areEqual(at + 1, in: ours, value, in: theirs) else { return false }
            expected = theirs[value].next
            at = ours[at + 1].next
        }
        return true
    }

    /// A hash that equal values share.
    mutating func hash(_ node: Int32, in view: TapeView, seed: UInt64) -> UInt64 {
        steps -= 1
        guard steps >= 0 else { return 0 }
        let place = view[node]
        switch place.kind {
        case .true, .false, .null: return seed &+ UInt64(place.kind.rawValue)
        case .string:
            let bytes = view.bytes(node)
            steps -= bytes.count >> 6
            return Hash.bytes(bytes, seed: seed)
        case .number:
            let bytes = view.bytes(node)
            steps -= bytes.count >> 3
            return Decimal(bytes).hash(seed: seed)
        case .array:
            var state = seed ^ 0xA5
            var at = node + 1
            while at < place.next {
                state = Decimal.mix(state, hash(at, in: view, seed: seed))
                at = view[at].next
            }
            return state
        case .object:
            // A sum, since the members' order must not count.
            var sum = seed ^ 0x5A
            var at = node + 1
            while at < place.next {
                sum &+= Decimal.mix(hash(at, in: view, seed: seed), hash(at + 1, in: view, seed: seed))
                at = view[at + 1].next
            }
            return sum
        }
    }
}
