import KuraBytes
import KuraClient
import KuraProtocol

/// What a daemon tells of itself at one moment: `storage.status` and `storage.stats`.
struct DaemonNumbers {
    /// A histogram as `storage.stats` has it.
    struct Measured {
        var count: Int64 = 0
        /// Of times in microseconds.
        var sum: Int64 = 0
        var max: Int64 = 0
        /// How many values each bucket has, by its upper bound, which belongs to it.
        var buckets: [(bound: Int64, count: Int64)] = []

        init() {}

        init(_ object: JSONObject?) {
            count = object?.integer("count") ?? 0
            sum = object?.integer("sumMicroseconds") ?? object?.integer("sum") ?? 0
            max = object?.integer("maxNanoseconds") ?? object?.integer("max") ?? 0
            buckets = (object?.object("buckets")?.entries ?? []).compactMap { name, value in
                guard let bound = Int64(name), let count = JSONObject.integer(value) else { return nil }
                return (bound, count)
            }
        }

        /// What has come since `before`, an earlier moment of the same daemon.
        func since(_ before: Measured) -> Measured {
            var measured = Measured()
            measured.count = count - before.count
            measured.sum = sum - before.sum
            var position = 0
            for bucket in buckets {
                while position < before.buckets.count, before.buckets[position].bound < bucket.bound { position += 1 }
                let isThere = position < before.buckets.count && before.buckets[position].bound == bucket.bound
                let count = bucket.count - (isThere ? before.buckets[position].count : 0)
                if count > 0 { measured.buckets.append((bucket.bound, count)) }
            }
            measured.max = measured.buckets.last?.bound ?? 0
            return measured
        }

        /// The value that `perMille` of a thousand do not exceed, rounded up to its bucket's bound; nil without any.
        func value(perMille: Int64) -> Int64? {
            guard count > 0 else { return nil }
            let rank = Swift.max(1, count / 1000 * perMille + (count % 1000 * perMille + 999) / 1000)
            var seen: Int64 = 0
            for bucket in buckets {
                seen = seen.plus(bucket.count)
                if seen >= rank { return Swift.min(bucket.bound, Swift.max(max, 1)) }
            }
            return max
        }

        /// Values up to `bound`: exact for powers of two.
        func count(upTo bound: Int64) -> Int64 {
            buckets.reduce(Int64(0)) { $1.bound <= bound ? $0.plus($1.count) : $0 }
        }
    }

    struct Requests {
        var method: String
        var refused: Int64
        var latency: Measured
    }

    /// Look-ups of a cache's namespaces, together.
    struct CacheLookups {
        var hits: Int64 = 0
        var stale: Int64 = 0
        var misses: Int64 = 0
    }

    let status: JSONObject
    let stats: JSONObject
    let daemon: JSONObject
    let requests: [Requests]

    /// - Throws: when the daemon does not tell this client of itself.
    init(status: [UInt8], stats: [UInt8]) throws(Failure) {
        guard let status = JSONObject(status), let stats = JSONObject(stats), status.string("version") != nil else {
            throw Failure(status: .noDaemon, message: "the answers are none of storage.status and storage.stats")
        }
        guard let daemon = stats.object("daemon") else {
            throw Failure(
                status: .refused, message: "the daemon does not tell this role how it does",
                hint: "its role needs the verb monitor on the store 'storage'")
        }
        self.status = status
        self.stats = stats
        self.daemon = daemon
        requests = (daemon["requests"].flatMap(JSONElements.read) ?? []).compactMap { element in
            guard let object = JSONObject(element), let method = object.string("method") else { return nil }
            return Requests(
                method: method, refused: object.integer("refused") ?? 0, latency: Measured(object.object("latency")))
        }
    }

    /// Asks the daemon.
    static func ask(_ session: inout Session, _ catalogue: Catalogue) throws(Failure) -> DaemonNumbers {
        let status = try session.result(try catalogue.method(named: "storage.status"))
        let stats = try session.result(
            try catalogue.method(named: "storage.stats"), JSONParts.object([("histograms", Array("true".utf8))]))
        return try DaemonNumbers(status: status, stats: stats)
    }

    /// A number within one of the status' members.
    func status(_ member: String, _ name: String) -> Int64 { status.object(member)?.integer(name) ?? 0 }

    /// A histogram within one of the daemon's members.
    func measured(_ member: String, _ name: String) -> Measured {
        Measured(daemon.object(member)?.object(name))
    }

    func lookups(_ store: String) -> CacheLookups {
        (stats[store].flatMap(JSONElements.read) ?? []).compactMap { JSONObject($0) }.reduce(into: CacheLookups()) {
            $0.hits = $0.hits.plus($1.integer("hits") ?? 0)
            $0.stale = $0.stale.plus($1.integer("stale") ?? 0)
            $0.misses = $0.misses.plus($1.integer("misses") ?? 0)
        }
    }

    /// Names and numbers of an object, in the order in which they stand.
    static func numbers(_ object: JSONObject?) -> [(name: String, value: Int64)] {
        (object?.entries ?? []).compactMap { name, value in JSONObject.integer(value).map { (name, $0) } }
    }
}

extension Int64 {
    /// The sum of two numbers as the protocol has them, as one of these: however many a daemon claims there are, it is one that can be reckoned with.
    func plus(_ other: Int64) -> Int64 {
        Swift.min(Swift.max(self + other, -WireLimits.safeInteger), WireLimits.safeInteger)
    }
}
