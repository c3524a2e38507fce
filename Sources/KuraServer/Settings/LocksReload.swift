import KuraBytes
import KuraStorage
import KuraTransport
import Synchronization

/// The locks' file being read again on another thread, which may wait for the disk, and its outcome's way to the loop.
final class LocksReload: Sendable {
    enum Outcome: Sendable {
        case locks(SettingsLocks)
        case refused(String)
    }
    let path: String?
    /// As the daemon started with them.
    let first: SettingsLocks
    private let outcomes = Mutex<[Outcome]>([])
    private let hasOutcome = Atomic<Bool>(false)

    init(path: String?, locks: SettingsLocks) {
        self.path = path
        first = locks
    }

    /// Reads the file; on any thread.
    func read() {
        guard let path else { return }
        let outcome: Outcome
        do throws(Configuration.Refusal) {
            outcome = .locks(try SettingsLocks(file: path))
        } catch { outcome = .refused(error.description) }
        outcomes.withLock { $0.append(outcome) }
        hasOutcome.store(true, ordering: .releasing)
    }

    /// What has been read, the newest last.
    func take() -> [Outcome] {
        // Asked in every turn.
        guard hasOutcome.load(ordering: .acquiring) else { return [] }
        return outcomes.withLock { outcomes in
            hasOutcome.store(false, ordering: .relaxed)
            defer { outcomes = [] }
            return outcomes
        }
    }
}

extension Server {
    /// SIGHUP: the file is read again; what is wrong with it leaves the locks as they were.
    func reloadLocks(_ storage: isolated Storage) {
        guard locksReload.path != nil else {
            journal.log(.info, "nothing to read again: no settingsLocks are configured")
            return
        }
        storage.runInBackground { [locksReload, loop] in
            locksReload.read()
            loop.wake()
        }
    }

    /// Applies what was read since the last turn.
    func takeLocks(_ storage: isolated Storage) {
        for outcome in locksReload.take() {
            switch outcome {
            case .locks(let locks):
                apply(locks, storage)
                journal.log(.info, "locks read again", [("settings", String(locks.count))])
            case .refused(let reason):
                journal.log(.error, "locks not read again: the old ones stay", [("reason", reason)])
            }
        }
    }

    /// From now on these settings are locked, and no others.
    func apply(_ locks: SettingsLocks, _ storage: isolated Storage) {
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
}
