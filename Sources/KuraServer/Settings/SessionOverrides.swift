import KuraBytes
import KuraStorage

/// Settings that a connection has overridden for itself. They are in memory only and end with it.
final class SessionOverrides {
    /// Keys of one connection.
    static let countLimit = 256
    /// Bytes of keys and values of one connection.
    static let bytesLimit = 64 << 10

    private let budget: OverrideBudget
    private var domains: [(name: [UInt8], table: LayerTable)] = []
    private(set) var count = 0
    private var bytes = 0

    init(_ budget: OverrideBudget) {
        self.budget = budget
    }

    deinit {
        budget.charge(-bytes)
    }

    /// Bytes of memory that they take, about.
    var footprint: Int { bytes + count * 64 }

    enum Failure: Error {
        case full(limit: Int)
        /// All connections together have too many.
        case overloaded
    }

    func table(_ domain: Bytes) -> LayerTable? {
        // Mostly one: applications override their own settings.
        for entry in domains where entry.name.withBytes({ $0.equals(domain) }) { return entry.table }
        return nil
    }

    func set(_ domain: Bytes, _ key: Bytes, _ value: Bytes) throws(Failure) {
        var items = table(domain)?.items ?? []
        let item = LayerTable.Item(key: Array(key), value: Array(value))
        if let index = items.firstIndex(where: { $0.key == item.key }) {
            items[index] = item
        } else {
            items.append(item)
        }
        let table = LayerTable(items)
        let old = self.table(domain)
        let newCount = count - (old?.count ?? 0) + table.count
        let newBytes = bytes - (old?.bytes ?? 0) + table.bytes
        guard newCount <= Self.countLimit else { throw .full(limit: Self.countLimit) }
        guard newBytes <= Self.bytesLimit else { throw .full(limit: Self.bytesLimit) }
        guard budget.admits(newBytes - bytes) else { throw .overloaded }
        replace(domain, table)
    }

    /// Takes away one override, those of a domain, or all.
    func clear(_ domain: Bytes?, _ key: Bytes?) {
        guard let domain else {
            for name in domains.map(\.name) { name.withBytes { replace($0, nil) } }
            return
        }
        guard let table = table(domain) else { return }
        var rest: [LayerTable.Item] = []
        if let key { rest = table.items.filter { item in !item.key.withBytes { $0.equals(key) } } }
        replace(domain, rest.isEmpty ? nil : LayerTable(rest))
    }

    private func replace(_ domain: Bytes, _ table: LayerTable?) {
        let index = domains.firstIndex { $0.name.withBytes { $0.equals(domain) } }
        let old = index.map { domains[$0].table }
        if let index { domains.remove(at: index) }
        if let table { domains.append((Array(domain), table)) }
        count += (table?.count ?? 0) - (old?.count ?? 0)
        let added = (table?.bytes ?? 0) - (old?.bytes ?? 0)
        bytes += added
        budget.charge(added)
    }
}
