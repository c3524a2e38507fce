import KuraBytes
import KuraClient
import KuraProtocol

extension ReplayTally {
    /// How a request was answered in the recording and in a replay, where that is not the same. Values are in no recording: a result is held
    /// against the outline of the recorded one.
    struct Difference: Hashable {
        let recorded: String
        let replayed: String

        private init(_ recorded: String, _ replayed: String) { (self.recorded, self.replayed) = (recorded, replayed) }

        /// nil when there is none.
        init?(_ method: String, _ reply: RecordedTraffic.Reply, _ outcome: Outcome) {
            switch (reply.error, outcome) {
            case (nil, .result(let result)): self.init(method, reply.outline, result)
            case (let then?, .error(let now)) where then == now: return nil
            case (let then, _): self.init(then ?? "a result", outcome.word)
            }
        }

        /// Of results.
        private init?(_ method: String, _ outline: JSONObject?, _ result: [UInt8]) {
            guard let outline, let method = MintedValues.methods[method] else { return nil }
            let found = result.withBytes { method.outline(of: $0) }
            for field in method.result {
                let (then, now) = (outline[field.name], found.first { $0.name == field.name }?.value)
                guard then != now, !(Self.isNothing(then) && Self.isNothing(now)) else { continue }
                self.init(field.name, then, now)
                return
            }
            return nil
        }

        private init(_ name: String, _ then: [UInt8]?, _ now: [UInt8]?) {
            let amounts = (then.map(JSONObject.integer) ?? 0, now.map(JSONObject.integer) ?? 0)
            switch amounts {
            case (0?, _): self.init("a result without \(name)", "one with")
            case (_, 0?): self.init("a result with \(name)", "one without")
            case (let then?, let now?): self.init("a result", "one with \(now < then ? "less" : "more") in \(name)")
            default: self.init("\(name) \(Self.word(then))", Self.word(now))
            }
        }

        /// A list that has no elements, or may be left out.
        private static func isNothing(_ value: [UInt8]?) -> Bool { value.map { JSONObject.integer($0) == 0 } ?? true }

        private static func word(_ value: [UInt8]?) -> String {
            value.map { JSONObject.string($0) ?? String(decoding: $0, as: UTF8.self) } ?? "missing"
        }
    }
}
