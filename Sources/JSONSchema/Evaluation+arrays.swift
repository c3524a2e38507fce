import KuraBytes
import KuraProtocol

extension Evaluation {
    mutating func isArrayGood(_ rule: Rule, _ instance: Int32) throws(Stop) -> Bool {
        let count = Int(tape[instance].count)
        switch rule.test {
        case .minItems(let least): return count >= least || fail(rule.place, instance)
        case .maxItems(let most): return count <= most || fail(rule.place, instance)
        case .items(let each):
            var holds = true
            var at = instance + 1
            while at < tape[instance].next {
                if try !check(each, at) {
                    holds = false
                    if !goesOn { break }
                }
                at = tape[at].next
            }
            return holds
        case .tuple(let run, let additional): return try isTuple(run, additional, instance)
        case .uniqueItems: return try areUnique(rule, instance, count)
        case .contains(let wanted):
            var at = instance + 1
            while at < tape[instance].next {
                if try ask(wanted, at) { return true }
                at = tape[at].next
            }
            return fail(rule.place, instance)
        default: return true
        }
    }

    private mutating func isTuple(_ run: Run, _ additional: Int32, _ instance: Int32) throws(Stop) -> Bool {
        var holds = true
        var at = instance + 1
        var place = run.range.lowerBound
        while at < tape[instance].next {
            let schema = place < run.range.upperBound ? schema.program.lists[place] : additional
            if schema < 0 { break }
            if try !check(schema, at) {
                holds = false
                if !goesOn { break }
            }
            at = tape[at].next
            place += 1
        }
        return holds
    }

    private mutating func areUnique(_ rule: Rule, _ instance: Int32, _ count: Int) throws(Stop) -> Bool {
        guard count > 1 else { return true }
        return count <= 8
            ? try areUniqueByPairs(rule, instance)
            : try areUniqueByHash(rule, instance, count)
    }

    private mutating func areUniqueByPairs(_ rule: Rule, _ instance: Int32) throws(Stop) -> Bool {
        var left = instance + 1
        var position = 0
        while left < tape[instance].next {
            var right = tape[left].next
            var other = position + 1
            while right < tape[instance].next {
                let isEqual = equality.areEqual(left, in: tape, right, in: tape)
                try spend(0, rule.place, instance)
                if isEqual { return fail(rule.place, instance, .equal(position, other)) }
                right = tape[right].next
                other += 1
            }
            left = tape[left].next
            position += 1
        }
        return true
    }

    /// Sorted by hash, equal elements stand side by side: n·log n however many there are.
    private mutating func areUniqueByHash(_ rule: Rule, _ instance: Int32, _ count: Int) throws(Stop) -> Bool {
        var elements: [(hash: UInt64, node: Int32, position: Int32)] = []
        try spend(count * 8, rule.place, instance)
        elements.reserveCapacity(count)
        var at = instance + 1
        while at < tape[instance].next {
            let hash = equality.hash(at, in: tape, seed: schema.program.seed)
            try spend(0, rule.place, instance)
            elements.append((hash, at, Int32(elements.count)))
            at = tape[at].next
        }
        elements.sort { ($0.hash, $0.position) < ($1.hash, $1.position) }
        for right in elements.indices.dropFirst() {
            var left = right - 1
            while left >= 0, elements[left].hash == elements[right].hash {
                let isEqual = equality.areEqual(elements[left].node, in: tape, elements[right].node, in: tape)
                try spend(0, rule.place, instance)
                if isEqual {
                    return fail(
                        rule.place, instance, .equal(Int(elements[left].position), Int(elements[right].position)))
                }
                left -= 1
            }
        }
        return true
    }
}
