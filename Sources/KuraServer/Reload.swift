import Glibc
import KuraBytes
import KuraProtocol
import KuraSocket
import KuraStorage
import KuraTransport
import Synchronization

/// The configuration being read again on another thread, which may wait for the disk, and its outcome's way to the loop.
final class Reload: Sendable {
    /// What can be put in force while the daemon runs.
    struct Found: Sendable {
        var configuration = Configuration()
        var access: AccessRules
        var locks = SettingsLocks()
    }
    enum Outcome: Sendable {
        case found(Found)
        case refused(String)
    }
    /// As the daemon started with it.
    let first: Found
    private let again: @Sendable () throws(Configuration.Refusal) -> Found
    private let outcomes = Mutex<[Outcome]>([])
    private let hasOutcome = Atomic<Bool>(false)
    /// Times that it was asked for and has not been read since.
    private let wishes = Atomic<Int>(0)
    private let thread = Mutex<WorkerThread?>(nil)

    /// `again`: reads everything anew; on any thread.
    init(_ first: Found, again: @escaping @Sendable () throws(Configuration.Refusal) -> Found) {
        self.first = first
        self.again = again
    }

    /// Reads on a thread of its own, since whatever else runs in the background may have long to go; asked for while it reads, it
    /// reads once more. From one thread.
    /// `wake`: called on another thread when there is an outcome.
    func begin(_ wake: @escaping @Sendable () -> Void) {
        guard wishes.add(1, ordering: .acquiringAndReleasing).oldValue == 0 else { return }
        thread.withLock { thread in
            thread?.join()
            thread = try? WorkerThread(name: "kura-reload", isBackground: false) { [self] in
                var seen: Int
                repeat {
                    seen = wishes.load(ordering: .acquiring)
                    read()
                    wake()
                } while !wishes.compareExchange(expected: seen, desired: 0, ordering: .acquiringAndReleasing).exchanged
            }
            guard thread == nil else { return }
            wishes.store(0, ordering: .releasing)
            add(.refused("the system makes no thread that could read it"))
            wake()
        }
    }

    /// Ends the thread, when it does not hang in a system call.
    func stop() {
        // A second at most, whatever time it is.
        for _ in 0..<1000 where wishes.load(ordering: .acquiring) > 0 { usleep(1000) }
        guard wishes.load(ordering: .acquiring) == 0 else { return }
        thread.withLock { thread in
            thread?.join()
            thread = nil
        }
    }

    private func read() {
        let outcome: Outcome
        do throws(Configuration.Refusal) { outcome = .found(try again()) } catch {
            outcome = .refused(error.description)
        }
        add(outcome)
    }

    private func add(_ outcome: Outcome) {
        outcomes.withLock { $0.append(outcome) }
        hasOutcome.store(true, ordering: .releasing)
    }

    /// Whether something may have been read. Asked in every turn.
    var mayHaveOutcome: Bool { hasOutcome.load(ordering: .acquiring) }

    /// What has been read, the newest last.
    func take() -> [Outcome] {
        outcomes.withLock { outcomes in
            hasOutcome.store(false, ordering: .relaxed)
            defer { outcomes = [] }
            return outcomes
        }
    }
}

extension Server {
    /// SIGHUP: the configuration is read again; when something is wrong with it everything stays as it was.
    func readAgain() {
        supervision.reloading()
        jobs.reload.begin { [loop] in loop.wake() }
    }

    /// Applies what was read since the last turn.
    func takeReload(_ storage: isolated Storage) {
        guard jobs.reload.mayHaveOutcome else { return }
        for outcome in jobs.reload.take() {
            switch outcome {
            case .found(let found):
                for name in found.configuration.fixedDifferences(from: jobs.reload.first.configuration) {
                    journal.log(.warning, "takes a restart to change", [("key", name)])
                }
                apply(found, storage)
                for socket in sockets where !socket.listener.isInPlace {
                    journal.log(
                        .warning, "a socket's file is gone, or another's: nobody comes in by it until a restart",
                        [("socket", socket.rule.path)])
                }
                journal.log(
                    .info, "configuration read again",
                    [
                        ("roles", String(found.access.roles.count)), ("lockedSettings", String(found.locks.count)),
                        ("logLevel", found.configuration.logLevel.name),
                        ("slowMilliseconds", String(found.configuration.slowMilliseconds)),
                    ])
                journal.setThreshold(found.configuration.logLevel)
                supervision.ready(clock, "serving, \(sockets.count) sockets")
            case .refused(let reason):
                journal.log(.error, "configuration not read again: everything stays as it was", [("reason", reason)])
                supervision.ready(clock, "serving with the old configuration: the new one does not hold")
            }
        }
    }

    /// Puts in force what a configuration says, as far as it can be changed while the daemon runs.
    func apply(_ found: Reload.Found, _ storage: isolated Storage) {
        apply(found.locks, storage)
        apply(found.access, storage)
        storage.bill.setBudgets(found.configuration.writeBudgets)
        facts.latencies.slow.milliseconds = found.configuration.slowMilliseconds
    }

    /// From now on these settings are locked, and no others.
    private func apply(_ locks: SettingsLocks, _ storage: isolated Storage) {
        let concerned = Set(facts.locks.domains.keys).union(locks.domains.keys)
        facts.locks = locks
        for domain in concerned {
            let annex = domain.withBytes { storage.settings.annex(making: $0) }
            guard let annex else {
                journal.log(.error, "a domain's locks do not hold: there are too many domains")
                continue
            }
            annex.invalidate()
        }
    }

    /// From now on these roles and quotas hold, also for those who are connected.
    private func apply(_ rules: AccessRules, _ storage: isolated Storage) {
        access.apply(rules, storage)
        // Those of a daemon that drains are closed, and known to whoever came in by them.
        for socket in sockets.isEmpty ? connections.all.compactMap(\.client.door) : sockets {
            // One that the configuration has no more stays as it was until the restart that closes it. So does one whose file
            // is to have another owner or other permissions: with the file as it is, its new roles would let in others than
            // they are meant for.
            guard let rule = rules.sockets.first(where: { $0.isSame(as: socket.rule) }) else { continue }
            // The file of one that was passed is the service manager's.
            guard socket.listener.path == nil || rule.isSamePlace(as: socket.rule) else {
                journal.log(
                    .warning, "a socket keeps its roles until a restart: its owner or permissions are to change",
                    [("socket", socket.rule.path)])
                continue
            }
            socket.rule.roles = rule.roles
            socket.rule.role = rule.role
        }
        for connection in connections.all { judgeAgain(connection, storage) }
        call.changes.wake()
    }

    private func judgeAgain(_ connection: Connection, _ storage: isolated Storage) {
        guard let door = connection.client.door else { return }
        let descriptor = connection.socket.descriptor
        do throws(RPCError) {
            let admission = try access.admit(connection.client.peer, on: door.rule) {
                PeerCredentials.groups(of: descriptor)
            }
            let isSame = admission.permissions?.reads == connection.permissions?.reads
            connection.client.admission = admission
            connection.feed.show(admission.permissions?.visible, call.changes)
            if !isSame {
                connection.feed.resync(storage.syncedRev.rev, caches: storage.caches.changes.rev)
                connection.feed.forbidWaits(admission.permissions)
            }
            connection.feed.endForbidden(admission.permissions)
            if connection.outstanding.transfers > 0 { cancelForbiddenTransfers(of: connection) }
            if connection.outstanding.parked > 0 { endForbiddenWaits(of: connection, storage) }
        } catch {
            journal.log(.info, "a connection ends: its role is gone", [("role", connection.client.admission.role)])
            close(connection)
        }
    }

    /// Nobody is given a model that was asked for with grants of before.
    private func endForbiddenWaits(of connection: Connection, _ storage: isolated Storage) {
        guard let permissions = connection.permissions else { return }
        let waiters = storage.caches.claims.endWaits(of: connection.token) { subject in
            guard subject.room == CacheStore.models.rawValue,
                let namespace = storage.models.namespace(number: subject.scope)
            else { return true }
            return namespace.name.withBytes { permissions.allows(.read, .models, $0) }
        }
        for waiter in waiters { call.parkedReplies.append(waiter, .refusal(.forbidden)) }
    }

    /// Its transfers go on only where the connection could still begin them.
    private func cancelForbiddenTransfers(of connection: Connection) {
        guard let permissions = connection.permissions else { return }
        for transfer in transfers.all where transfer.token == connection.token {
            guard !transfer.work.mayGoOn(permissions) else { continue }
            transfer.channel.forbid()
            transfer.cancel()
        }
    }
}

extension ConnectionFeed {
    /// What is shown from now on is what these scopes have.
    mutating func show(_ visible: VisibleScopes?, _ feed: ChangeFeed) {
        for position in subscriptions.indices {
            subscriptions[position].selector = feed.selector(subscriptions[position].selector, visible)
        }
        for position in waits.indices { waits[position].selector = feed.selector(waits[position].selector, visible) }
    }

    /// Makes up for changes that the old grants hid: subscriptions get an overflow, waits look again from their `afterRev`.
    /// `synced` and `caches`: the newest revisions.
    mutating func resync(_ synced: UInt64, caches: UInt64) {
        for position in subscriptions.indices {
            let newest = subscriptions[position].selector.filter.isOfCaches ? caches : synced
            subscriptions[position].cursor = max(newest, subscriptions[position].cursor)
            subscriptions[position].mustResync = true
        }
        for position in waits.indices { waits[position].cursor = waits[position].after }
    }

    /// Waits for what may not be read any more end: they would pass over all that they are for, and answer in the end that
    /// there was nothing.
    mutating func forbidWaits(_ permissions: Permissions?) {
        guard let permissions else { return }
        for position in waits.indices where waits[position].unreadable == nil {
            waits[position].unreadable = AccessRule.unreadable(waits[position], permissions)
        }
    }
}

extension ChangeFeed {
    /// Takes the place of a selector that is in use.
    fileprivate func selector(_ old: ChangeSelector, _ visible: VisibleScopes?) -> ChangeSelector {
        guard old.filter.visible !== visible else { return old }
        var filter = old.filter
        filter.visible = visible
        let new = selector(filter, old.details)
        replace(old, by: new)
        return new
    }
}
