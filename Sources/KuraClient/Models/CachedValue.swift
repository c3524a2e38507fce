/// A value of the model cache, or one that was just fetched.
public struct CachedValue<Value: Sendable>: Sendable {
    public let value: Value
    /// Nobody needs to fetch it.
    public let isFresh: Bool
    /// Since it was stored or confirmed.
    public let age: Duration
    /// What its source calls this version of it.
    public let etag: String?
}

extension CachedValue: Equatable where Value: Equatable {}

/// What a source has answered.
public enum Refreshed<Value: Sendable>: Sendable {
    /// A value, with what its source calls this version of it.
    case value(Value, etag: String? = nil)
    /// What was cached is still what it is: it is fresh again, and nothing is written.
    case notModified
}

/// An error that says for how long nobody is to try again: the source asks to be left alone.
public protocol RetryLater: Error {
    /// Whole seconds.
    var retryAfter: Duration { get }
}

/// `models.get`'s answer.
struct CacheEntry: Sendable {
    /// JSON text; nil on a miss.
    let value: [UInt8]?
    let isFresh: Bool
    let age: Duration
    let etag: String?
    /// Who has it is to fetch.
    let token: String?
    let retryAfter: Duration?

    init(_ answer: JSONObject) {
        value = answer["value"]
        isFresh = answer.string("state") == "fresh"
        age = .milliseconds(answer.integer("ageMs") ?? 0)
        etag = answer.string("etag")
        token = answer.string("token")
        retryAfter = answer.integer("retryAfterMs").map { .milliseconds($0) }
    }

    /// nil when it is in another shape.
    func cached<Value: Decodable & Sendable>(_ text: [UInt8], as type: Value.Type) -> CachedValue<Value>? {
        guard let value = try? FaceCoding.decode(type, from: text) else { return nil }
        return CachedValue(value: value, isFresh: isFresh, age: age, etag: etag)
    }
}
