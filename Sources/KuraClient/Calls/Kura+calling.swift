import KuraBytes
import KuraProtocol
import Synchronization

/// Counts request keys.
final class KeyNumbers: Sendable {
    private let last = Atomic<Int64>(0)

    func next() -> Int64 { last.add(1, ordering: .relaxed).newValue }
}

extension Kura {
    /// Calls a method with parameters and a result of your own types.
    /// - Parameters:
    ///   - method: a method's name, as `rpc.discover` lists them.
    ///   - params: an object (or `Nothing()`), as the method's table has it.
    ///   - returning: what the result is read as.
    ///   - options: how long to wait, and under which request key.
    /// - Returns: the result.
    /// - Throws: what the daemon refuses, by its kind; `notEncodable`, `wrongType`; `serverGone`, `noReply`, `outcomeUnknown`, `cancelled`, `closed`.
    public func call<P: Encodable & Sendable, R: Decodable & Sendable>(
        _ method: String, _ params: P, returning: R.Type = R.self, options: CallOptions = .init()
    ) async throws(KuraError) -> R {
        let text = try WireEncoder().encode(params)
        let call = try await ask(method, text, nil, options)
        defer { link.release(call) }
        do throws(KuraError) { return try WireDecoder().decode(R.self, from: call.reply.bytes) } catch {
            throw KuraError(error.kind, error.message, method: method)
        }
    }

    /// Calls a method with JSON text for parameters, and returns that of the result.
    /// - Parameters:
    ///   - method: a method's name, as `rpc.discover` lists them.
    ///   - params: an object, or an array of parameters by position, which gets no request key of the client's own. Empty: no parameters.
    ///   - descriptor: goes along with the request, for a method that takes `fd: true`; it stays open here.
    ///   - options: how long to wait, and under which request key.
    /// - Returns: the result's text, and the descriptor that came with it.
    /// - Throws: as above; `notEncodable` when `params` is no JSON object or array, and then nothing was sent.
    public func call(
        _ method: String, json params: [UInt8], passing descriptor: OwnedDescriptor? = nil,
        options: CallOptions = .init()
    ) async throws(KuraError) -> RawReply {
        let text: [UInt8]
        do throws(JSONFault) { text = params.isEmpty ? Array("{}".utf8) : try JSONDocument.compact(params) } catch {
            throw KuraError(.notEncodable, "the parameters are not JSON: \(error.explanation)", method: method)
        }
        let call = try await ask(method, text, descriptor, options)
        defer { link.release(call) }
        return RawReply(result: Array(call.reply.bytes), descriptor: call.received)
    }

    /// Calls a method with parameters as the typed faces write them, and returns the members of its result.
    func call(
        _ method: String, _ parameters: ParameterText, passing descriptor: OwnedDescriptor? = nil
    ) async throws(KuraError) -> JSONObject {
        let reply = try await call(method, json: parameters.object, passing: descriptor)
        guard let answer = JSONObject(reply.result) else { throw .badAnswer(method) }
        return answer
    }

    /// Performs a call of any kind.
    /// - Returns: the call, with the result as its reply; the caller releases it.
    private func ask(
        _ method: String, _ params: [UInt8], _ descriptor: OwnedDescriptor?, _ options: CallOptions
    ) async throws(KuraError) -> PendingCall {
        let rule = MethodRule.of(method)
        guard let first = params.first, first == UInt8(ascii: "{") || first == UInt8(ascii: "[") else {
            throw KuraError(.notEncodable, "the parameters are no JSON object or array", method: method)
        }
        let key = try requestKey(method, rule, params, rule.takesKey ? options.over(scope) : options)
        let timeout = timeout(method, rule, params, options)
        let call = link.take(isSecret: rule.hasSecrets)
        call.request.append(",\"method\":")
        call.request.append(string: method)
        call.request.append(",\"params\":")
        call.request.append(params)
        if let added = key.added {
            call.request.truncate(to: call.request.count - 1)
            call.request.append(params.count > 2 ? ",\"requestKey\":" : "\"requestKey\":")
            call.request.append(string: added)
            call.request.append("}")
        }
        call.request.append("}\n")
        call.passing = descriptor
        if rule.isStanding { call.standing = StandingState.Change(method, params) }
        // By the parameter: what a value has within is not asked for.
        call.wantsDescriptor =
            rule.bringsDescriptor && params.withBytes { $0.contains(text: "\"as\":\"fd\"") }
            && JSONObject(params)?.string("as") == "fd"
        let isKeyed = key.name != nil
        let isSafe =
            isKeyed
            || rule.repeats
                && (rule.isRead
                    || !params.withBytes { $0.contains(text: "\"token\":") || $0.contains(text: "\"ifAbsent\":") })
        let manner = Manner(method: method, rule: rule, key: key.name, isNamed: key.isNamed, isSafe: isSafe)
        try await perform(call, manner, timeout: timeout)
        return call
    }

    /// The key that a write goes under, and what has to be added to its parameters for that.
    private func requestKey(
        _ method: String, _ rule: MethodRule, _ params: [UInt8], _ options: CallOptions
    ) throws(KuraError) -> (name: String?, added: String?, isNamed: Bool) {
        guard rule.takesKey, params.first == UInt8(ascii: "{") else {
            guard case .named = options.requestKey else { return (nil, nil, false) }
            throw KuraError(
                .notEncodable, "the call cannot have a request key", method: method, advice: "Leave `requestKey` out.")
        }
        if params.withBytes({ $0.contains(text: "\"requestKey\":") }),
            let own = JSONObject(params)?.string("requestKey")
        {
            return (own, nil, true)
        }
        switch options.requestKey {
        case .none: return (nil, nil, false)
        case .named(let name): return (name, name, true)
        case .automatic:
            guard link.options.requestKeys, !Self.goesWithoutKey(method, params) else { return (nil, nil, false) }
            let name = nextKey()
            return (name, name, false)
        }
    }

    func nextKey() -> String { "\(session.keyPrefix)-\(session.keyNumbers.next())" }

    /// Deletions by a selector go in slices, which a key would forbid; what is returned only once is not kept.
    private static func goesWithoutKey(_ method: String, _ params: [UInt8]) -> Bool {
        switch method {
        case "documents.deleteMany": JSONObject(params)?["where"] != nil
        case "secrets.generate": JSONObject(params)?.boolean("returnSecret") == true
        default: false
        }
    }

    /// How long to wait for what is quick and does not wait itself, in nanoseconds.
    func timeout(_ options: CallOptions) -> Int64 {
        (options.timeout ?? scope.timeout).map(Clock.nanoseconds) ?? link.timeout
    }

    /// How long to wait, in nanoseconds. What the daemon is asked to wait for comes on top, unless the call itself says how long.
    func timeout(_ method: String, _ rule: MethodRule, _ params: [UInt8], _ options: CallOptions) -> Int64 {
        if let timeout = options.timeout { return Clock.nanoseconds(timeout) }
        if rule.isSlow, scope.timeout == nil { return .max }
        let timeout = timeout(options)
        guard rule.waits else { return timeout }
        let object = JSONObject(params)
        let asked = max(object?.integer("timeoutMs") ?? 0, object?.integer("waitMs") ?? 0)
        let usual = method == "changes.wait" && object?["timeoutMs"] == nil ? 30_000 : asked
        return Clock.deadline(
            after: Int64(clamping: UInt64.nanoseconds(milliseconds: min(usual, 86_400_000))), from: timeout)
    }

    // MARK: Performing

    /// What is known of a call besides its text.
    struct Manner {
        var method: String
        var rule: MethodRule
        var key: String?
        /// Somebody else has named the key than the client.
        var isNamed = false
        /// Sent twice it is done once, or as if.
        var isSafe: Bool
    }

    /// How often a call is sent that loses its connection or meets a daemon with too much to do.
    private static let attempts = 6

    /// Sends a call until it is answered, over as many connections as that takes and as is safe.
    ///
    /// Returns with the result as the call's reply. When it throws, the call is not the caller's any more.
    func perform(_ call: PendingCall, _ manner: Manner, timeout: Int64) async throws(KuraError) {
        let now = Clock.now()
        call.queuedAt = now
        call.deadline = Clock.deadline(after: timeout, from: now)
        if Task.isCancelled {
            link.release(call)
            throw KuraError(.cancelled, "the task was cancelled before the call was sent")
        }
        if let limit = link.lineBytes, call.request.count + 40 > limit {
            let bytes = call.request.count
            link.release(call)
            throw KuraError(
                .lineTooLong, "a request of \(bytes) bytes, where a line has \(limit) at most", method: manner.method,
                advice: "Large contents are blobs or attachments, passed by descriptor.")
        }
        let named = manner.isNamed ? manner.key : nil
        let hash = named == nil ? 0 : session.spentKeys.hash(call.request.bytes)
        if let named, session.spentKeys.isSpent(named, onOtherThan: hash) {
            link.release(call)
            throw KuraError(
                .requestKeyReused, "the request key was spent on another call", method: manner.method, requestKey: named
            )
        }
        var reported: KuraError?
        for attempt in 0..<Self.attempts {
            // Patience is with a daemon that has gone, and begins when it goes.
            if attempt > 0 { call.queuedAt = Clock.now() }
            let outcome = await link.exchange(call)
            if outcome == .result {
                if let named { session.spentKeys.spend(named, on: hash) }
                return
            }
            let again = try judge(outcome, call, manner, &reported, isLast: attempt == Self.attempts - 1)
            if again { await pause(attempt, until: call.deadline) }
        }
        link.release(call)
        throw reported
            ?? KuraError(
                .connectionLost, "the connection was lost \(Self.attempts) times before the call was answered",
                method: manner.method)
    }

    /// What follows from an outcome that is no result. The call is given back when it throws.
    /// - Returns: whether to wait before it is sent again.
    private func judge(
        _ outcome: PendingCall.Outcome, _ call: PendingCall, _ manner: Manner, _ reported: inout KuraError?,
        isLast: Bool
    ) throws(KuraError) -> Bool {
        let method = manner.method
        switch outcome {
        case .result: return false
        case .late:
            let isWrite = !manner.rule.isRead
            throw KuraError(
                .noReply, isWrite ? "no reply in time; the change may be made yet" : "no reply in time", method: method,
                requestKey: manner.key)
        case .cancelled:
            throw KuraError(
                .cancelled, "the task was cancelled while the call was under way", method: method,
                requestKey: manner.key)
        case .lost:
            let unknown = KuraError(
                .outcomeUnknown, "the connection was lost before the reply came", method: method, requestKey: manner.key
            )
            guard manner.isSafe else {
                link.release(call)
                throw manner.rule.isRead
                    ? KuraError(.connectionLost, "the connection was lost before the reply came", method: method)
                    : unknown
            }
            if !manner.rule.isRead { reported = unknown }
            return isLast
        case .failed:
            let failure = call.failure ?? KuraError(.connectionLost, "the connection was lost", method: method)
            link.release(call)
            throw reported ?? failure
        case .error:
            let refusal = KuraError(answer: Array(call.reply.bytes), method: method, requestKey: manner.key)
            // What was not begun is sent again, and so is what is told under its key how it ended.
            let isAgain =
                switch refusal.kind {
                case .overloaded, .shuttingDown: true
                case .outcomeUnknown: manner.key != nil
                default: false
                }
            guard isAgain, !isLast else {
                link.release(call)
                throw refusal
            }
            if refusal.kind == .outcomeUnknown { reported = refusal }
            call.reply.removeAll()
            return true
        }
    }

    /// 20 ms at first, a second at most.
    private func pause(_ attempt: Int, until deadline: Int64) async {
        let longest = Link.longestPause(attempt)
        let nanoseconds = min(longest / 2 + Int64.random(in: 0...longest / 2), max(0, deadline - Clock.now()))
        try? await Task.sleep(for: .nanoseconds(nanoseconds))
    }
}
