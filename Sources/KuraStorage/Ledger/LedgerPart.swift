import KuraBytes

/// What a store has of its own in the ledger. Asked seldom: when something is configured, for items that claim something, and with slices.
protocol LedgerPart: AnyObject {
    var store: Store { get }

    /// What is configured for a scope of the store has changed, or such a change was taken back.
    func noteConfiguration(_ configuration: Scope, of scope: Scope)
    /// A change of what is configured that concerns nobody else; false for any other.
    func takesProgress(_ item: ItemRef, of scope: Scope?) -> Bool
    /// Whether the tables are told what is configured under a key.
    func tellsTables(of key: Bytes) -> Bool

    /// An item that claims something (`ItemFlags.claiming`) is in the tables, or was taken back.
    func forget(_ item: ItemRef)
    /// A slice was cut: it takes along what the tables have to know.
    func cut(_ slice: FoldSlice, _ ledger: Ledger)
    /// There is something to tell the tables, though nothing has changed.
    func awaitsSlice(_ ledger: Ledger) -> Bool
    /// A start has taken in a change: the ledger is at this revision.
    func replayed(to rev: UInt64)
}

/// What a store keeps with a scope.
class ScopeState {
    /// Bytes of the pages that a change of an item touches beside its own, about.
    var pagesOfChange: Int { 0 }
}

extension Ledger {
    /// There is something to tell the tables, by a slice of its own if need be.
    var awaitsSlice: Bool { parts.contains { $0.awaitsSlice(self) } }

    private func ownPart(of store: Store) -> (any LedgerPart)? { parts.first { $0.store == store } }

    /// The scope that something is configured for.
    func subject(of configuration: Scope) -> (store: Store, name: ArraySlice<UInt8>)? {
        guard let slash = configuration.name.firstIndex(of: UInt8(ascii: "/")) else { return nil }
        let room = configuration.name[..<slash]
        guard let store = Store.all(.configurable).first(where: { room.elementsEqual($0.roomName.utf8) }) else {
            return nil
        }
        return (store, configuration.name[(slash + 1)...])
    }

    /// The first item about a scope was taken back: nothing is configured for it, and unless it is used it goes.
    func forgetConfiguration(_ configuration: Scope, reusingID: Bool) {
        guard let (store, name) = subject(of: configuration),
            let subject = name.withBytes({ scopes.find(store, $0) }), !subject.isPinned
        else { return }
        subject.annex = nil
        scopes.remove(vacant: subject, reusingID: reusingID)
    }

    /// An item of what is configured for a scope has changed.
    func note(configuration item: ItemRef, _ configuration: Scope) {
        let subject = subject(of: configuration)
        let part = subject.flatMap { ownPart(of: $0.store) }
        func scope() -> Scope? {
            guard let (store, name) = subject else { return nil }
            return name.withBytes { scopes.find(store, $0) }
        }
        if let part, part.takesProgress(item, of: scope()) { return }
        noteConfiguration(configuration)
        guard let part, part.tellsTables(of: item.key), let scope = scope() else { return }
        let isFirst = scope.news.noteDefinition(item.pointee.rev)
        let text = item.isTombstone ? [] : Array(item.value)
        overlay.append(
            FoldSlice.Event(
                rev: item.pointee.rev, store: scope.store, scope: scope.id,
                kind: .configured(key: Array(item.key), text: text)),
            with: item, isFirst: isFirst)
    }

    func takeBackEvent(of item: ItemRef) {
        guard let event = overlay.takeBackEvent(of: item), event.isFirst else { return }
        scopes.known(event.event.scope)?.news.takeBackDefinition()
    }

    /// What is configured for a scope has changed, or a change of it was taken back.
    func noteConfiguration(_ configuration: Scope) {
        guard let (store, name) = subject(of: configuration),
            let subject = name.withBytes({ scopes.findOrMake(store, $0) })
        else { return }
        if let annex = subject.annex { annex.invalidate() } else { subject.annex = ScopeAnnex() }
        ownPart(of: store)?.noteConfiguration(configuration, of: subject)
        let durability = find(configuration, Bytes(ConfigurationStore.durability))
        if let durability, !durability.isTombstone,
            let seconds = ConfiguredValue.flushSeconds(durability.value)
        {
            subject.durability.relax(flushSeconds: Int32(seconds), since: durability.pointee.rev)
        } else {
            subject.durability.tighten()
        }
    }

    /// What is configured under a key; empty for nothing.
    func configured(_ key: StaticString, _ configuration: Scope) -> Bytes {
        find(configuration, Bytes(key)).flatMap { $0.isTombstone ? nil : $0.value } ?? Bytes()
    }
}
