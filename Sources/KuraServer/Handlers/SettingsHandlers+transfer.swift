import KuraBytes
import KuraProtocol
import KuraStorage

/// Settings out of the storage and into it, whole domains at a time.
extension SettingsHandlers {
    // MARK: Export

    static func export(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        let list = try call.page(cursor: SettingsExport.cursor, of: SettingsExport.domains)
        let place = list.after.map { ExportPlace($0) }
        var page = ExportPage(
            limit: Int(call[SettingsExport.limit] ?? Int64(WireLimits.listItems)), start: out.count, call)
        out.openObject()
        out.openObject(.values)
        for (domain, isNamed) in try domains(call, storage) {
            if let place, domain.lexicographicallyPrecedes(place.domain) { continue }
            let after = place?.domain == domain ? place?.key : nil
            page.begin(domain)
            // A domain that was asked for by name shows that it has nothing.
            if isNamed, after == nil { page.open(&out) }
            _ = domain.withBytes { name in
                storage.settings.list(name, prefix: Bytes(), afterKey: after) { item in
                    page.add(item, &out)
                }
            }
            page.end(&out)
            if page.hasMore { break }
        }
        out.closeObject()
        out.append(.rev, list.rev(storage.rev))
        if let last = page.cursor { last.withBytes { list.append(cursor: $0, rev: storage.rev, to: &out) } }
        out.closeObject()
        call.shows(storage.rev)
    }

    /// The domains to export in the order of their names' bytes, and whether the request names them.
    private static func domains(
        _ call: Call, _ storage: isolated Storage
    ) throws(Refusal) -> [(name: [UInt8], isNamed: Bool)] {
        guard call.has(SettingsExport.domains) else {
            return storage.settings.scopes()
                .filter { $0.count > 0 && call.shows([.list, .read], .settings, scope: $0.name) }
                .map { ($0.name, false) }
        }
        var names: Set<[UInt8]> = []
        try call.forEachName(of: SettingsExport.domains, limit: WireLimits.getManyItems) { (name) in
            names.insert(Array(name))
        }
        return names.sorted { $0.lexicographicallyPrecedes($1) }.map { ($0, true) }
    }

    // MARK: Import

    static func `import`(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        let replaces = call[SettingsImport.mode].elementsEqual("replace".utf8)
        let isDryRun = call[SettingsImport.dryRun]
        var work = SettingsImportRun(replaces: replaces)
        let transaction = storage.beginTransaction(by: call.author(storage))
        do throws(Refusal) {
            var walk = JSONWalk(call[SettingsImport.values], storage: call.memory.walk)
            while let (domain, values) = walk.nextMember() { try work.take(domain, values, call, storage) }
        } catch {
            storage.abandon(transaction)
            call.forgetsShown(above: storage.rev)
            throw error
        }
        var rev: UInt64?
        if isDryRun { storage.abandon(transaction) } else { rev = storage.end(transaction) }
        let isRelaxed = call.shows(transaction: rev, storage)
        out.openObject()
        out.append(.rev, rev ?? storage.rev)
        work.diff.append(to: &out)
        call.append(warnings: work.warnings, to: &out)
        if isRelaxed { out.append(.durable, false) }
        out.closeObject()
    }
}

/// Where a page of an export ended: domain and key, with a byte between them that names cannot have.
private struct ExportPlace {
    var domain: [UInt8]
    var key: [UInt8]

    init(_ cursor: [UInt8]) {
        let parts = cursor.split(separator: 0, maxSplits: 1, omittingEmptySubsequences: false)
        domain = Array(parts[0])
        key = parts.count > 1 ? Array(parts[1]) : []
    }
}

/// The domains of a page, each opened when it has something to show.
private struct ExportPage {
    private let limit: Int
    private let start: Int
    private let bytesLimit: Int
    private var count = 0
    private var domain: [UInt8] = []
    private var isOpen = false
    private var last: [UInt8] = []
    private(set) var hasMore = false

    init(limit: Int, start: Int, _ call: Call) {
        self.limit = limit
        self.start = start
        bytesLimit = SettingsPage.bytes(call)
    }

    /// Where the next page goes on.
    var cursor: [UInt8]? { hasMore ? last : nil }

    mutating func begin(_ domain: [UInt8]) {
        self.domain = domain
        isOpen = false
    }

    mutating func open(_ out: inout ByteBuffer) {
        domain.withBytes { out.append(key: $0) }
        out.openObject()
        isOpen = true
    }

    mutating func add(_ item: StoredItem, _ out: inout ByteBuffer) -> Bool {
        guard count < limit, out.count - start < bytesLimit else {
            hasMore = true
            return false
        }
        if !isOpen { open(&out) }
        count += 1
        out.append(key: item.key, json: item.value)
        last = domain + [0] + Array(item.key)
        return true
    }

    func end(_ out: inout ByteBuffer) {
        if isOpen { out.closeObject() }
    }
}

/// An import that is being staged, and what it makes different.
private struct SettingsImportRun {
    let replaces: Bool
    var diff = ImportDiff()
    var warnings: [SettingViolation] = []
    private var count = 0

    init(replaces: Bool) {
        self.replaces = replaces
    }

    mutating func take(
        _ domain: Bytes, _ values: Bytes, _ call: Call, _ storage: isolated Storage
    ) throws(Refusal) {
        guard JSONWalk.isName(domain, limit: WireLimits.scopeBytes), values.first == UInt8(ascii: "{") else {
            throw .error(
                RPCError(
                    .invalidParams, hint: "values are objects, by names of domains",
                    parameter: call.name(SettingsImport.values)))
        }
        let layers = call.layers(domain, storage)
        let name = String(decoding: domain, as: UTF8.self)
        try hold(values, against: layers?.rules, beneath: "/" + Self.token(name), call)
        var refusal: Refusal?
        do throws(EngineError) {
            _ = try storage.settings.putMany(domain, ifRev: nil, by: call.author(storage)) {
                (batch: inout SettingsStore.Batch) throws(EngineError) in
                do throws(Refusal) {
                    try fill(&batch, domain, values, layers, call, storage)
                } catch {
                    refusal = error
                    throw .busy
                }
            }
        } catch { throw refusal ?? Refusal(error, call: call) }
    }

    private mutating func hold(
        _ values: Bytes, against rules: DomainRules?, beneath prefix: String, _ call: Call
    ) throws(Refusal) {
        guard let rules, rules.mode != .off else { return }
        let found = rules.violations(of: values, upTo: rules.mode == .enforce ? 1 : Call.violationLimit)
        if rules.mode == .enforce, let first = found.first { throw call.violates(first, beneath: prefix) }
        warnings += found.prefix(Call.violationLimit - warnings.count).map { SettingViolation(in: $0) }
    }

    private mutating func fill(
        _ batch: inout SettingsStore.Batch, _ domain: Bytes, _ values: Bytes, _ layers: DomainLayers?, _ call: Call,
        _ storage: isolated Storage
    ) throws(Refusal) {
        var named: Set<[UInt8]> = []
        var walk = JSONWalk(values, storage: call.memory.innerWalk)
        while let (key, value) = walk.nextMember() {
            count += 1
            guard count <= WireLimits.listItems else {
                throw .error(
                    RPCError(
                        .invalidParams, hint: "too many settings at once", parameter: call.name(SettingsImport.values),
                        limit: WireLimits.listItems))
            }
            guard JSONWalk.isName(key, limit: WireLimits.keyBytes) else {
                throw .error(
                    RPCError(
                        .invalidParams, hint: "a key is 1 to 512 bytes without control characters",
                        parameter: call.name(SettingsImport.values)))
            }
            if replaces { named.insert(Array(key)) }
            let old = storage.settings.get(domain, key).item
            if let old, old.value.equals(value) { continue }
            try refuseLocked(layers, domain, key, call)
            diff.note(old == nil ? .added : .changed, domain, key)
            do throws(EngineError) { try batch.put(key, value) } catch { throw Refusal(error, call: call) }
        }
        guard replaces else { return }
        var gone: [[UInt8]] = []
        _ = storage.settings.list(domain, prefix: Bytes(), afterKey: nil) { item in
            let key = Array(item.key)
            if !named.contains(key) { gone.append(key) }
            return true
        }
        for key in gone {
            try key.withBytes { (key) throws(Refusal) in
                try refuseLocked(layers, domain, key, call)
                diff.note(.removed, domain, key)
                do throws(EngineError) { try batch.delete(key) } catch { throw Refusal(error, call: call) }
            }
        }
    }

    private func refuseLocked(
        _ layers: DomainLayers?, _ domain: Bytes, _ key: Bytes, _ call: Call
    ) throws(Refusal) {
        guard let locked = layers?.locked, let index = locked.index(of: key) else { return }
        var error = call.lockedError(locked, index)
        call.errorTexts.point(
            &error,
            at: "/" + Self.token(String(decoding: domain, as: UTF8.self)) + "/"
                + Self.token(String(decoding: key, as: UTF8.self)))
        throw .error(error)
    }

    /// A name within a JSON pointer.
    private static func token(_ name: String) -> String { name.replacing("~", with: "~0").replacing("/", with: "~1") }
}

/// What an import makes different: numbers, and names up to a bound.
private struct ImportDiff {
    enum Change: Int, CaseIterable {
        case added, changed, removed

        var count: NumberMember {
            switch self {
            case .added: .added
            case .changed: .changed
            case .removed: .removed
            }
        }

        var names: ListMember {
            switch self {
            case .added: .added
            case .changed: .changed
            case .removed: .removed
            }
        }
    }
    /// Names of each kind that a reply tells.
    static let nameLimit = 1000
    private var counts = [0, 0, 0]
    private var names: [[(domain: [UInt8], key: [UInt8])]] = [[], [], []]

    mutating func note(_ change: Change, _ domain: Bytes, _ key: Bytes) {
        counts[change.rawValue] += 1
        if names[change.rawValue].count < Self.nameLimit {
            names[change.rawValue].append((Array(domain), Array(key)))
        }
    }

    func append(to out: inout ByteBuffer) {
        for change in Change.allCases { out.append(change.count, counts[change.rawValue]) }
        out.openObject(.diff)
        for change in Change.allCases {
            out.openList(change.names)
            for name in names[change.rawValue] {
                out.openObject()
                out.append(.domain, name.domain)
                out.append(.key, name.key)
                out.closeObject()
            }
            out.closeList()
        }
        out.closeObject()
    }
}
