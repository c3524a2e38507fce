import KuraBytes

/// The namespaces of the model cache by number and by name, and the connections that hold scratch ones. Belongs to the loop.
final class ModelNamespaces {
    /// By their numbers, from 1 on; nil where one is gone.
    private var slots: [ModelNamespace?] = [nil]
    private var numbers: [[UInt8]: UInt32] = [:]
    /// The one that was asked for last.
    private var latest: ModelNamespace?
    /// Numbers of namespaces that are gone.
    private var unused: [UInt32] = []
    /// Where the search for a large one goes on.
    private var hand = 0
    private var assign: ((Bytes) -> [QuotaAccount])?
    /// Scratch namespaces by the connections that hold them.
    private var holdings: [UInt64: Set<UInt32>] = [:]
    /// Namespaces without a name, whose entries are still there.
    private(set) var leaving: [UInt32] = []
    private let places: CachePlaces

    /// Namespaces that are looked at for one that has most.
    private static let lookedAt = 8

    /// `places`: where the entries of all of them stand in their orders.
    init(_ places: CachePlaces) { self.places = places }

    // MARK: Finding

    /// Namespaces that have a name.
    var count: Int { numbers.count }
    /// Behind the last number.
    var end: Int { slots.count }

    func find(_ name: Bytes) -> ModelNamespace? {
        if let latest, latest.name.withBytes({ $0.equals(name) }) { return latest }
        guard let number = numbers[Array(name)] else { return nil }
        latest = slots[Int(number)]
        return latest
    }

    subscript(number: UInt32) -> ModelNamespace? { Int(number) < slots.count ? slots[Int(number)] : nil }

    /// By their numbers, those that leave included.
    var all: [ModelNamespace] { slots.compactMap { $0 } }

    /// Those that have a name, in its order.
    var named: [ModelNamespace] {
        all.filter { !$0.isLeaving }.sorted { $0.name.lexicographicallyPrecedes($1.name) }
    }

    /// One that has entries, and more bytes than most; nil when there is no namespace.
    func findLarge() -> ModelNamespace? {
        var largest: ModelNamespace?
        for _ in 0..<min(Self.lookedAt, slots.count) {
            hand = hand + 1 < slots.count ? hand + 1 : 0
            if let namespace = slots[hand], namespace.count > 0, namespace.bytes > largest?.bytes ?? -1 {
                largest = namespace
            }
        }
        return largest ?? all.max { $0.bytes < $1.bytes }
    }

    // MARK: Coming and going

    /// A number that nobody has, nor a token of one who had it.
    /// `isUnfit`: whether a token is about a number that is free.
    func nextNumber(unless isUnfit: (UInt32) -> Bool) -> UInt32 {
        guard let number = unused.last, !isUnfit(number) else { return UInt32(slots.count) }
        unused.removeLast()
        return number
    }

    /// `number`: of one that is new, or what a file calls it.
    @discardableResult
    func add(number: UInt32, _ name: [UInt8], _ configuration: ModelConfiguration) -> ModelNamespace {
        let made = ModelNamespace(number: number, name: name, configuration: configuration, places: places)
        while slots.count <= Int(number) { slots.append(nil) }
        slots[Int(number)] = made
        numbers[name] = number
        made.accounts = name.withBytes { accounts(of: $0) }
        for account in made.accounts { account.note(bytes: 0, items: 0, scopes: 1) }
        return made
    }

    /// All that files name have been added: the numbers between them are free.
    func noteLoaded() { unused = slots.indices.dropFirst().filter { slots[$0] == nil }.map { UInt32($0) } }

    /// Takes a namespace without entries out.
    func forget(_ namespace: ModelNamespace) {
        if !namespace.isLeaving { forgetName(of: namespace) }
        slots[Int(namespace.number)] = nil
        unused.append(namespace.number)
    }

    /// Nobody finds it any more.
    private func forgetName(of namespace: ModelNamespace) {
        namespace.isLeaving = true
        for account in namespace.accounts { account.note(bytes: 0, items: 0, scopes: -1) }
        numbers[namespace.name] = nil
        if latest === namespace { latest = nil }
    }

    // MARK: Scratch

    /// A connection holds a scratch namespace from now on.
    func hold(_ namespace: ModelNamespace, by owner: UInt64) {
        if holdings[owner, default: []].insert(namespace.number).inserted { namespace.holders += 1 }
    }

    /// A connection is gone: scratch namespaces that nobody else holds lose their names at once.
    func release(_ owner: UInt64) {
        for number in holdings.removeValue(forKey: owner) ?? [] {
            guard let namespace = self[number] else { continue }
            namespace.holders -= 1
            guard namespace.configuration.isScratch, namespace.holders == 0 else { continue }
            forgetName(of: namespace)
            leaving.append(number)
        }
    }

    /// Forgets those without a name, as far as `empty` takes their entries out.
    /// - Returns: false when there is more.
    func forgetLeaving(_ empty: (ModelNamespace) -> Bool) -> Bool {
        while let number = leaving.last {
            if let namespace = self[number] {
                guard empty(namespace) else { return false }
                forget(namespace)
            }
            leaving.removeLast()
        }
        return true
    }

    // MARK: Quotas

    /// The accounts that a namespace of this name is in.
    func accounts(of name: Bytes) -> [QuotaAccount] { assign?(name) ?? [] }

    /// From now on `assign` tells which accounts a namespace is in. They are new: what there is, is counted into them here.
    func assignAccounts(_ assign: @escaping (Bytes) -> [QuotaAccount]) {
        self.assign = assign
        for namespace in all {
            namespace.accounts = namespace.name.withBytes { assign($0) }
            for account in namespace.accounts {
                account.note(bytes: namespace.bytes, items: namespace.count, scopes: namespace.isLeaving ? 0 : 1)
            }
        }
    }
}
