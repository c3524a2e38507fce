import KuraBytes
import KuraProtocol

/// Keywords that hold other schemas against the same value.
extension Evaluation {
    mutating func combine(_ rule: Rule, _ instance: Int32) throws(Stop) -> Bool {
        switch rule.test {
        case .reference(let target): return try check(target, instance)
        case .not(let target): return try !ask(target, instance) || fail(rule.place, instance)
        case .allOf(let run):
            var holds = true
            for index in run.range where try !check(schema.program.lists[index], instance) {
                holds = false
                if !goesOn { break }
            }
            return holds
        case .anyOf(let run):
            for index in run.range where try ask(schema.program.lists[index], instance) { return true }
            return fail(rule.place, instance, .matches(0, of: Int(run.count)))
        case .oneOf(let run):
            var matches = 0
            for index in run.range where try ask(schema.program.lists[index], instance) {
                matches += 1
            }
            return matches == 1 || fail(rule.place, instance, .matches(matches, of: Int(run.count)))
        case .conditional(let condition, let then, let otherwise):
            let branch = try ask(condition, instance) ? then : otherwise
            return branch < 0 ? true : try check(branch, instance)
        default: return true
        }
    }
}
