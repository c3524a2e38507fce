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
                for definition in scope.references {
                    byTarget[definition.collection, default: []].append(Referrer(scope: scope, definition: definition))
                }
            }
        }
        return byTarget.isEmpty ? [] : byTarget[scope.name] ?? []
    }
}

extension Ledger {
    /// The collections that refer to documents of this one.
    func referrers(to scope: Scope) -> [Referrer] { references.referrers(to: scope, scopes) }

    /// The references of a collection may be others now.
    func noteReferences(_ configuration: Scope, of collection: Scope) {
        let item = find(configuration, Bytes(ConfigurationStore.references))
        let text = item.flatMap { $0.isTombstone ? nil : $0.value } ?? Bytes()
        guard !collection.references.isEmpty || !text.isEmpty else { return }
        // A text that this version does not understand never stops anybody.
        collection.referencesRev = item?.pointee.rev ?? 0
        collection.references = text.isEmpty ? [] : (try? ReferenceDefinition.list(text)) ?? []
        references.invalidate()
    }

    /// A change that is about to be staged, or has been replayed, refers to these documents until it is folded.
    ///
    /// One that refers to very many is found by the field alone, and then looked through: what a document costs here is bounded.
    func claimReferences(_ item: ItemRef, _ scope: Scope, _ buffer: inout ByteBuffer) {
        for definition in scope.references {
            let seed = Referrer(scope: scope, definition: definition).seed
            let ids = definition.field.ids(in: StoredValue(item.value), limit: Self.claimedIDs + 1)
            guard ids.count <= Self.claimedIDs else {
                claims.add(item, seed)
                continue
            }
            for id in ids {
                buffer.removeAll()
                IndexKey.append(id, to: &buffer)
                claims.add(item, Hash.bytes(buffer.bytes, seed: seed))
            }
        }
    }

    /// Ids of one document that are told apart.
    private static let claimedIDs = 256
}
