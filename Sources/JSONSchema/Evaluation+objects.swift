import KuraBytes
import KuraProtocol

extension Evaluation {
    mutating func isObjectGood(_ rule: Rule, _ instance: Int32) throws(Stop) -> Bool {
        let count = Int(tape[instance].count)
        switch rule.test {
        case .minProperties(let least): return count >= least || fail(rule.place, instance)
        case .maxProperties(let most): return count <= most || fail(rule.place, instance)
        case .members(let index): return try areMembersGood(schema.program.objects[Int(index)], rule, instance)
        case .propertyNames(let name):
            var holds = true
            var at = instance + 1
            while at < tape[instance].next {
                if try !check(name, at) {
                    holds = false
                    if !goesOn { break }
                }
                at = tape[at + 1].next
            }
            return holds
        case .required(let run): return try hasAll(run, rule, instance)
        case .dependencies(let run):
            var holds = true
            for dependency in schema.program.dependencies[run.range] {
                try spend(1 + count >> 1, rule.place, instance)
                guard tape.member(schema.tape.bytes(dependency.name), of: instance) != nil else { continue }
                let isMet =
                    dependency.schema >= 0
                    ? try check(dependency.schema, instance)
                    : try hasAll(dependency.names, rule, instance)
                if !isMet {
                    holds = false
                    if !goesOn { break }
                }
            }
            return holds
        default: return true
        }
    }

    private mutating func hasAll(_ names: Run, _ rule: Rule, _ instance: Int32) throws(Stop) -> Bool {
        var holds = true
        let cost = 1 + Int(tape[instance].count) >> 1
        for index in names.range {
            try spend(cost, rule.place, instance)
            let name = schema.program.lists[index]
            if tape.member(schema.tape.bytes(name), of: instance) == nil {
                holds = fail(rule.place, instance, .missing(name))
                if !goesOn { break }
            }
        }
        return holds
    }

    private mutating func areMembersGood(
        _ object: ObjectRule, _ rule: Rule, _ instance: Int32
    ) throws(Stop) -> Bool {
        var holds = true
        var at = instance + 1
        while at < tape[instance].next {
            try spend(1, rule.place, instance)
            let value = at + 1
            let name = tape.bytes(at)
            var isKnown = false
            if let known = property(name, object.properties) {
                isKnown = true
                if try !check(known, value) { holds = false }
            }
            for index in object.patterns.range where holds || goesOn {
                let entry = schema.program.patternProperties[index]
                let place = Place(keyword: .patternProperties, node: entry.name)
                guard try matches(entry.pattern, name, place, at) else { continue }
                isKnown = true
                if try !check(entry.schema, value) { holds = false }
            }
            if !isKnown, object.additional >= 0, try !check(object.additional, value) { holds = false }
            if !holds, !goesOn { break }
            at = tape[value].next
        }
        return holds
    }

    /// The schema of the property of that name.
    private func property(_ name: Bytes, _ run: Run) -> Int32? {
        guard run.count > 0 else { return nil }
        let hash = Hash.bytes(name, seed: schema.program.seed)
        var low = run.range.lowerBound
        var high = run.range.upperBound
        while low < high {
            let middle = (low + high) / 2
            if schema.program.properties[middle].hash < hash { low = middle + 1 } else { high = middle }
        }
        while low < run.range.upperBound, schema.program.properties[low].hash == hash {
            let entry = schema.program.properties[low]
            if schema.tape.isSame(entry.name, name) { return entry.schema }
            low += 1
        }
        return nil
    }
}
