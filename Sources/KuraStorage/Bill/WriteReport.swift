import KuraBytes

/// How much a room or a program may have written in a day (UTC).
public struct WriteBudget: Sendable, Equatable {
    public enum Target: Hashable, Sendable {
        case store(BilledStore)
        /// As a program calls itself; without a version in all of its versions.
        case client([UInt8])
    }

    public var target: Target
    public var bytesPerDay: Int
    /// What a program has written beyond it comes once a second only.
    public var throttles: Bool

    public init(_ target: Target, bytesPerDay: Int, throttles: Bool = false) {
        self.target = target
        self.bytesPerDay = bytesPerDay
        self.throttles = throttles
    }
}

extension WriteBudget.Target {
    func concerns(_ group: BillInterval.Group) -> Bool {
        switch self {
        case .store(let store): group.store == store
        case .client: concerns(client: group.client)
        }
    }

    func concerns(client name: [UInt8]) -> Bool {
        guard case .client(let wanted) = self, name.starts(with: wanted) else { return false }
        return name.count == wanted.count || name[wanted.count] == UInt8(ascii: "/")
    }

    /// For people: `client mail`, `settings`.
    public var text: String {
        switch self {
        case .store(let store): "\(store)"
        case .client(let name): "client \(String(decoding: name, as: UTF8.self))"
        }
    }
}

extension WriteBudget.Target {
    fileprivate func append(to out: inout ByteBuffer) {
        switch self {
        case .store(let store):
            out.append(UInt8(1))
            out.append(store.rawValue)
        case .client(let name):
            out.append(UInt8(2))
            WriteReport.append(name, to: &out)
        }
    }

    fileprivate init?(_ reader: inout BillReader) {
        switch reader.integer(UInt8.self) {
        case 1:
            guard let store = reader.integer(UInt8.self).flatMap({ BilledStore(rawValue: $0) }) else { return nil }
            self = .store(store)
        case 2:
            guard let name = reader.name() else { return nil }
            self = .client(name)
        default: return nil
        }
    }
}

/// That a report was resolved: so much of what was written on that day is forgiven.
struct ForgivenWrites: Equatable {
    var target: WriteBudget.Target
    /// Days since 1970.
    var day: Int64
    /// What had been written when it was resolved, and what has been since.
    var bytes: Int
    var spent: Int

    init(_ target: WriteBudget.Target, on day: Int64, bytes: Int, spent: Int) {
        (self.target, self.day, self.bytes, self.spent) = (target, day, bytes, spent)
    }

    func append(to out: inout ByteBuffer) {
        target.append(to: &out)
        for number in [day, Int64(bytes), Int64(spent)] { out.append(littleEndian: number) }
    }

    init?(_ reader: inout BillReader) {
        guard let target = WriteBudget.Target(&reader), let day = reader.number(), let bytes = reader.number(),
            let spent = reader.number()
        else { return nil }
        self.init(target, on: Int64(day), bytes: bytes, spent: spent)
    }
}

/// That more was written than a budget allows, by whom and with what. Open until somebody resolves it.
public struct WriteReport: Sendable, Equatable {
    public struct Part: Sendable, Equatable {
        public var name: [UInt8]
        public var changes: Int
        /// Its part of what the disk was given.
        public var bytes: Int
    }

    public struct Key: Sendable, Equatable {
        public var store: BilledStore
        public var scope: [UInt8]
        public var key: [UInt8]
        public var changes: Int
    }

    public var id: Int
    public var target: WriteBudget.Target
    public var bytesPerDay: Int
    /// Milliseconds since 1970.
    public var openedAt: Int64
    public var lastAt: Int64
    /// Days on which the budget was exceeded since it was opened.
    public var days = 0
    /// What was written on the last of them: the target's part, and all in all.
    public var bytes = 0
    public var totalBytes = 0
    /// Those that cost most first.
    public var clients: [Part] = []
    public var methods: [Part] = []
    public var keys: [Key] = []
    /// Changes that some of the last requests had.
    public var batchSizes: [Int] = []

    /// Parts of a kind that are kept.
    static let partLimit = 8

    init(id: Int, _ budget: WriteBudget, at milliseconds: Int64) {
        self.id = id
        target = budget.target
        bytesPerDay = budget.bytesPerDay
        openedAt = milliseconds
        lastAt = milliseconds
    }

    // MARK: The file

    func append(to out: inout ByteBuffer) {
        target.append(to: &out)
        for number in [id, bytesPerDay, days, bytes, totalBytes] { out.append(littleEndian: Int64(number)) }
        out.append(littleEndian: openedAt)
        out.append(littleEndian: lastAt)
        for parts in [clients, methods] {
            out.append(UInt8(parts.count))
            for part in parts {
                Self.append(part.name, to: &out)
                out.append(littleEndian: Int64(part.changes))
                out.append(littleEndian: Int64(part.bytes))
            }
        }
        out.append(UInt8(keys.count))
        for key in keys {
            out.append(key.store.rawValue)
            Self.append(key.scope, to: &out)
            Self.append(key.key, to: &out)
            out.append(littleEndian: Int64(key.changes))
        }
        out.append(UInt8(batchSizes.count))
        for size in batchSizes { out.append(littleEndian: Int64(size)) }
    }

    fileprivate static func append(_ name: [UInt8], to out: inout ByteBuffer) {
        out.append(littleEndian: UInt16(min(name.count, 1024)))
        out.append(Array(name.prefix(1024)))
    }

    init?(_ reader: inout BillReader) {
        guard let target = WriteBudget.Target(&reader) else { return nil }
        self.target = target
        guard let id = reader.number(), let limit = reader.number(), let days = reader.number(),
            let bytes = reader.number(), let total = reader.number(), let openedAt = reader.integer(Int64.self),
            let lastAt = reader.integer(Int64.self)
        else { return nil }
        (self.id, bytesPerDay, self.days, self.bytes, totalBytes) = (id, limit, days, bytes, total)
        (self.openedAt, self.lastAt) = (openedAt, lastAt)
        guard let clients = Self.parts(&reader), let methods = Self.parts(&reader),
            let keyCount = reader.integer(UInt8.self)
        else { return nil }
        (self.clients, self.methods) = (clients, methods)
        for _ in 0..<keyCount {
            guard let store = reader.integer(UInt8.self).flatMap({ BilledStore(rawValue: $0) }),
                let scope = reader.name(), let key = reader.name(), let changes = reader.number()
            else { return nil }
            keys.append(Key(store: store, scope: scope, key: key, changes: changes))
        }
        guard let sizes = reader.integer(UInt8.self) else { return nil }
        for _ in 0..<sizes {
            guard let size = reader.number() else { return nil }
            batchSizes.append(size)
        }
    }

    private static func parts(_ reader: inout BillReader) -> [Part]? {
        guard let count = reader.integer(UInt8.self) else { return nil }
        var parts: [Part] = []
        for _ in 0..<count {
            guard let name = reader.name(), let changes = reader.number(), let bytes = reader.number() else {
                return nil
            }
            parts.append(Part(name: name, changes: changes, bytes: bytes))
        }
        return parts
    }
}
