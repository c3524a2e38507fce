import KuraBytes
import KuraJSON

/// A collection that refers to another by one of its fields.
struct Referrer {
    let scope: Scope
    let definition: ReferenceDefinition

    /// Tells keys of this field from those of others, whatever it is configured to refer to.
    var seed: UInt64 { definition.seed &+ UInt64(scope.id) }
}

/// Which collections refer to which, as they are configured. Belongs to the loop.
struct ReferenceCatalog {
    private var byTarget: [[UInt8]: [Referrer]] = [:]
    private var isStale = false

    /// What is configured has changed, or scopes have come or gone.
    mutating func invalidate() { isStale = true }

    /// Mostly there are none, which costs a comparison.
    mutating func referrers(to scope: Scope, _ scopes: ScopeTable) -> [Referrer] {
        if isStale {
            isStale = false
            byTarget = [:]
            for scope in scopes.all where scope.store == .documents {
                for definition in scope.collection.references {
                    byTarget[definition.collection, default: []].append(Referrer(scope: scope, definition: definition))
                }
            }
        }
        return byTarget.isEmpty ? [] : byTarget[scope.name] ?? []
    }
}
