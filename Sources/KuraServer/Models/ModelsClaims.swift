import KuraBytes
import KuraProtocol
import KuraStorage

/// Win tokens of the model cache: who fetches, and what the others are told.
extension ModelsHandlers {
    /// Answers a get that has found nothing fresh and would fetch.
    static func claim(
        _ view: ModelView, _ found: ModelNamespace?, _ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage
    ) throws(Refusal) {
        guard storage.models.isReady else { throw .waits(.answer(storage.awaitModels())) }
        let namespace: ModelNamespace
        if let found { namespace = found } else { namespace = try call.namespace(storage) }
        let subject = subject(namespace, call[ModelsGet.key])
        let claims = storage.caches.claims
        let now = call.clock.monotonic
        var retryAfter: UInt64 = 0
        var token: WinToken?
        if let until = claims.heldUntil(subject, now: now) {
            retryAfter = until - now
        } else if let connection = call.connection {
            try call.admitClaim(connection, storage)
            try call.keepTurn()
            let lease = call[ModelsGet.leaseSeconds].map { UInt64.nanoseconds(seconds: $0) }
            token = claims.claim(
                subject, owner: connection.token, role: connection.client.admission.role, lease: lease,
                since: storage.models.moment, now: now)
            if token != nil, lease == nil { connection.outstanding.holdsCaches = true }
            let wait = UInt64.nanoseconds(milliseconds: call[ModelsGet.waitMs] ?? 0)
            // Replies of a batch leave together: none of them can come later.
            if token == nil, view.state == .miss, wait > 0, call.reader.hasID, connection.state.batch == nil,
                call.reader.replyID.count <= Call.parkedBytes
            {
                try call.admitParked(connection)
                claims.wait(
                    subject,
                    .init(
                        owner: connection.token, role: connection.client.admission.role,
                        request: Array(call.reader.replyID), deadline: now.later(by: wait), lease: lease))
                connection.outstanding.park()
                call.attempt.deferReply()
                return
            }
        }
        out.openObject()
        out.append(view, of: namespace)
        if let token { out.append(token, of: claims) }
        if retryAfter > 0 { out.append(.retryAfterMs, (retryAfter + 999_999) / 1_000_000) }
        out.closeObject()
    }

    static func subject(_ namespace: ModelNamespace, _ key: Bytes) -> CacheClaims.Subject {
        .init(room: CacheStore.models.rawValue, scope: namespace.number, key: Array(key))
    }

    static func fail(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        let claims = storage.caches.claims
        let found = try call.claimed(ModelsFail.token, of: .models, storage)
        // The method names no namespace that it could be held against.
        if let found, let namespace = storage.models.namespace(number: found.scope),
            !call.shows(.update, .models, scope: namespace.name)
        {
            throw call.unknownToken(ModelsFail.token)
        }
        try call.keepTurn()
        claims.spend(call[ModelsFail.token])
        guard let subject = found, let namespace = storage.models.namespace(number: subject.scope) else {
            return out.append(only: .ended, false)
        }
        subject.key.withBytes { storage.models.noteFailure(namespace, $0) }
        let now = call.clock.monotonic
        if let seconds = call[ModelsFail.retryAfterSeconds], seconds > 0 {
            let pause = UInt64.nanoseconds(seconds: seconds)
            let waiters = claims.settle(subject)
            claims.hold(subject, until: now.later(by: pause), now: now)
            call.tell(waiters) { out in
                subject.key.withBytes { append(nothingOf: $0, namespace, &out, call, storage) }
                out.append(.retryAfterMs, pause / 1_000_000)
            }
        } else if let news = claims.giveUp(subject, since: storage.models.moment, now: now) {
            tell(news, call, storage)
        }
        out.append(only: .ended, true)
    }

    static func renew(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        let key = call[ModelsRenew.key]
        let seconds = call[ModelsRenew.leaseSeconds] ?? 30
        let namespace = storage.models.namespace(call[ModelsRenew.namespace])
        // A namespace that there is not has no number, and none of its keys a token.
        let subject = CacheClaims.Subject(
            room: CacheStore.models.rawValue, scope: namespace?.number ?? .max, key: Array(key))
        try call.keepTurn()
        let standing = try call.renew(ModelsRenew.token, of: subject, seconds: seconds, storage)
        out.openObject()
        out.append(.expiresAt, storage.now.later(by: .milliseconds(seconds: seconds)))
        let isLate =
            switch standing {
            case .winner(let since):
                namespace.map { storage.models.isInvalidated($0, key, tags: Bytes(), since: since) } ?? false
            case .late: true
            }
        if isLate { out.append(.stale, true) }
        out.closeObject()
    }

    /// Tells somebody who waits that the claim is its own now, or that its time is over.
    static func tell(_ news: CacheClaims.News, _ call: Call, _ storage: isolated Storage) {
        switch news {
        case .won(let subject, let waiter, let token):
            call.tell(waiter) { out in
                let namespace = storage.models.namespace(number: subject.scope)
                subject.key.withBytes { append(nothingOf: $0, namespace, &out, call, storage) }
                out.append(token, of: storage.caches.claims)
            }
        case .timedOut(let subject, let waiter):
            call.tell(waiter) { out in
                let namespace = storage.models.namespace(number: subject.scope)
                subject.key.withBytes { append(nothingOf: $0, namespace, &out, call, storage) }
            }
        }
    }

    /// What there is of a key that no value has come for: perhaps one that another client has put as stale.
    static func append(
        nothingOf key: Bytes, _ namespace: ModelNamespace?, _ out: inout ByteBuffer, _ call: Call,
        _ storage: isolated Storage
    ) {
        var view = ModelView.miss
        // While many values wait to leave they ask for it.
        if !call.parkedReplies.isFull, let namespace,
            case .entry(let found) = storage.models.get(namespace, key, maxAge: nil)
        {
            view = found
        }
        out.append(view, of: namespace)
    }
}
