import KuraBytes
import KuraStorage

/// Where a setting's value can come from, highest first.
enum Layer: Int, CaseIterable {
    /// Fixed by the host's administrator, in a file.
    case locked
    /// Overridden for one connection.
    case session
    /// Written by an application: what is persisted.
    case app
    /// Registered by an application as its default.
    case registered
    /// The default that the domain's schema names.
    case schema
    /// The default that the request brought along.
    case `default`
    case none

    var word: StaticString {
        switch self {
        case .locked: "locked"
        case .session: "session"
        case .app: "app"
        case .registered: "registered"
        case .schema: "schema"
        case .default: "default"
        case .none: "none"
        }
    }

    /// The word as JSON text.
    var quoted: Bytes {
        let text: StaticString =
            switch self {
            case .locked: "\"locked\""
            case .session: "\"session\""
            case .app: "\"app\""
            case .registered: "\"registered\""
            case .schema: "\"schema\""
            case .default: "\"default\""
            case .none: "\"none\""
            }
        return Bytes(text)
    }
}

/// A value and the layer that it comes from.
struct LayeredValue {
    var layer: Layer
    var value: Bytes
}

/// What lies above and beneath an application's settings in one domain, as one connection sees it.
struct LayerView {
    /// What all see; nil when nothing is configured.
    let domain: DomainLayers?
    /// What this connection has overridden.
    let session: LayerTable?

    /// What hides the application's own value.
    func above(_ key: Bytes) -> LayeredValue? {
        if let value = domain?.locked?[key] { return LayeredValue(layer: .locked, value: value) }
        if let value = session?[key] { return LayeredValue(layer: .session, value: value) }
        return nil
    }

    /// What shows when the application has no value of its own.
    func beneath(_ key: Bytes) -> LayeredValue? { domain?.fallback(key) }

    /// The value that shows; `app`: the application's own.
    func winner(_ key: Bytes, app: Bytes?) -> LayeredValue? {
        above(key) ?? app.map { LayeredValue(layer: .app, value: $0) } ?? beneath(key)
    }

    /// Calls `body` with every layer that has a value, highest first.
    func forEach(_ key: Bytes, app: Bytes?, _ body: (LayeredValue) -> Void) {
        if let value = domain?.locked?[key] { body(LayeredValue(layer: .locked, value: value)) }
        if let value = session?[key] { body(LayeredValue(layer: .session, value: value)) }
        if let app { body(LayeredValue(layer: .app, value: app)) }
        if let value = domain?.registered?[key] { body(LayeredValue(layer: .registered, value: value)) }
        if let value = domain?.rules?.defaults[key] { body(LayeredValue(layer: .schema, value: value)) }
    }
}

/// The keys of a domain's layers in the order of their bytes, the application's own aside: a merge of sorted tables.
struct LayerMerge {
    private struct Source {
        var layer: Layer
        var table: LayerTable
        var next: Int
    }
    /// Highest first.
    private var sources: [Source] = []
    private let prefix: Bytes

    /// `prefix`: only keys that start so. `after`: only keys behind this one. `names`: keys that come without a value.
    init(_ view: LayerView?, prefix: Bytes, after: [UInt8]?, names: LayerTable? = nil) {
        self.prefix = prefix
        defer { add(.none, names, after) }
        guard let view else { return }
        add(.locked, view.domain?.locked, after)
        add(.session, view.session, after)
        add(.registered, view.domain?.registered, after)
        add(.schema, view.domain?.rules?.defaults, after)
    }

    private mutating func add(_ layer: Layer, _ table: LayerTable?, _ after: [UInt8]?) {
        guard let table else { return }
        var next = table.lowerBound(of: prefix)
        after?.withBytes { after in
            next = max(next, table.lowerBound(of: after))
            if next < table.count, table.key(next).equals(after) { next += 1 }
        }
        sources.append(Source(layer: layer, table: table, next: next))
    }

    /// The smallest key that has not been taken; nil at the end.
    var key: Bytes? {
        var smallest: Bytes?
        for source in sources where source.next < source.table.count {
            let key = source.table.key(source.next)
            guard key.starts(with: prefix) else { continue }
            if let known = smallest, !key.precedes(known) { continue }
            smallest = key
        }
        return smallest
    }

    /// Steps behind `key`, and says what shows there; `app`: the application's own value.
    mutating func take(_ key: Bytes, app: Bytes?) -> LayeredValue? {
        var winner = app.map { LayeredValue(layer: .app, value: $0) }
        for index in sources.indices {
            let source = sources[index]
            guard source.next < source.table.count, source.table.key(source.next).equals(key) else { continue }
            sources[index].next += 1
            if winner.map({ source.layer.rawValue < $0.layer.rawValue }) ?? true {
                winner = LayeredValue(layer: source.layer, value: source.table.value(source.next))
            }
        }
        return winner
    }
}
