import Glibc
import KuraBytes
import Sodium

/// The ring with what changes it: on the loop, it has one job run after the other and takes in what they come to.
final class KeyKeeper {
    let ring: KeyRing
    private var sources: KeySources
    /// Hashing a passphrase takes seconds, and all the memory that it may: never two at once.
    private let thread: JobThread<Task, KeyJob>
    private struct Task: Sendable {
        var job: KeyJob
        var opened: OpenedKeys?
        var sources: KeySources
    }
    private var waiting: [KeyJob] = []
    private var isRunning = false
    /// Times that the ring was locked.
    private var locks: UInt64 = 0
    private let report: @Sendable (String) -> Void
    /// There is something that keys have sealed, as of now.
    private let holdsSecrets: () -> Bool
    /// The store's record, as of now.
    private let seal: () -> StoreSeal

    /// Jobs that may wait, the one that runs included.
    static let mostWaiting = 8

    /// Opens what can be opened without anybody's help, and makes what a first start needs. Never keeps the daemon from starting:
    /// without keys everything but the secrets works.
    ///
    /// - Parameters:
    ///   - configuration: names the directory, and the sources.
    ///   - holdsSecrets: whether there is something that keys have sealed; then none are made.
    ///   - seal: the store's record: slots that it was not sealed with open nothing, and would only do harm.
    ///   - wake: called when a job is done.
    ///   - report: takes lines for the operator.
    init(
        _ configuration: StorageConfiguration, holdsSecrets: @escaping () -> Bool = { false },
        seal: @escaping () -> StoreSeal = { StoreSeal() }, wake: @escaping @Sendable () -> Void,
        report: @escaping @Sendable (String) -> Void
    ) {
        self.holdsSecrets = holdsSecrets
        self.seal = seal
        let files = KeyFiles(configuration)
        sources = KeySources(configuration.keys, files)
        thread = JobThread(name: "kura-keys", wake: wake) { task in
            task.job.run(opened: task.opened, task.sources)
            return task.job
        }
        self.report = report
        var slots: KeySlots?
        var hadSlots = true
        var opened: Result<OpenedKeys?, KeysFault>
        do throws(KeysFault) {
            try FileSystem.makeKeysDirectory(configuration)
            let opener = KeyOpener(sources)
            if let text = try files.slotsText() {
                let found = try KeySlots(reading: text)
                slots = found
                let record = seal()
                if let misfit = record.misfit(found) { throw .damaged(misfit) }
                do throws(KeysFault) {
                    let keys = try opener.open(found, text).0
                    opened = .success(keys)
                    let isStores = !configuration.keys.goesWithout && record.opens(with: keys)
                    Self.finish(found, files, isStores: isStores, report)
                } catch {
                    if case .damaged = error { throw error }
                    // Passphrases alone are as it should be.
                    if error != .sealed { report("the secrets stay sealed: \(error)") }
                    opened = .success(nil)
                    Self.finish(found, files, isStores: false, report)
                }
            } else if holdsSecrets() {
                throw .damaged(Self.missing)
            } else {
                hadSlots = false
                opened = .success(try opener.create())
            }
        } catch {
            report("the secrets cannot be used: \(error)")
            opened = .failure(error)
        }
        if let slots, files.hasStrayRootKey(slots) { report(Self.stray) }
        ring = KeyRing(
            hostKey: Self.hostKey(files, isFirst: !hadSlots || !holdsSecrets(), report), opened, slots: slots)
        if !ring.isMemoryLocked {
            report(
                "the memory of keys is not locked: they may be written to swap. Raise RLIMIT_MEMLOCK (LimitMEMLOCK= of the unit)"
            )
        }
    }

    /// Finishes a change that an earlier run was stopped amid. `isStores`: the slots are seen to be the store's.
    private static func finish(
        _ slots: KeySlots, _ files: KeyFiles, isStores: Bool, _ report: @Sendable (String) -> Void
    ) {
        var finished = KeyFiles.Finished()
        do throws(KeysFault) {
            if isStores { try files.finish(slots, &finished) } else { try files.removeDrafts(&finished) }
        } catch {
            report("a key file in keys/ is left, no slot needs it, and it cannot be overwritten: \(error)")
        }
        tell(finished, report)
    }

    private static func tell(_ finished: KeyFiles.Finished, _ report: @Sendable (String) -> Void) {
        if finished.hadStray {
            report(
                finished.hasOtherNames
                    ? "keys/root.key was left from a change that was stopped, and no slot needed it: it was removed"
                    : "keys/root.key was left from a change that was stopped, and no slot needed it: it was overwritten and removed"
            )
        }
        if finished.hasOtherNames {
            report(
                "a key file in keys/ had other names (hard links), so it was removed here and not overwritten: whoever has one of them has the key"
            )
        }
    }

    private static let stray =
        "keys/root.key is there, and no slot of keys/slots.json needs it: it is overwritten and removed once the secrets are unlocked. Where slots.json is an older one, or another store's, bring the right one back before"

    static let missing: KeysFault.StaticText = "it is missing"

    /// Refuses a start that has lost the slots: without them nobody can open what is there, and new ones would only hide it.
    ///
    /// - Throws: `refused`; nothing was changed.
    static func check(_ configuration: StorageConfiguration, holdsSecrets: Bool) throws(StorageFault) {
        guard holdsSecrets, !configuration.keys.goesWithout else { return }
        let path = KeyFiles(configuration).slotsPath
        let way =
            "Nothing was changed. Bring it back from a copy, or start with --without-secrets: everything else works then"
        do throws(KeysFault) {
            guard try KeyFiles(configuration).slotsText() == nil else { return }
        } catch {
            // What is in the file is another matter: it is told by `secrets.status`.
            guard case .system(let errno, let call, let path) = error else { return }
            if [EIO, ENOMEM, EMFILE, ENFILE].contains(errno) { throw .system(errno: errno, call: call, path: path) }
            throw .refused("\(error), and there are secrets that only its keys open. \(way)")
        }
        throw .refused("\(path) is missing, and there are secrets that only its keys open. \(way)")
    }

    /// `isFirst`: there were no keys before this start, or nothing that they have sealed.
    private static func hostKey(
        _ files: KeyFiles, isFirst: Bool, _ report: @Sendable (String) -> Void
    ) -> SecretKey? {
        do throws(KeysFault) {
            guard FileSystem.exists(files.hostKeyPath) else {
                if isFirst { return try files.makeKey(files.hostKeyPath) }
                let key = try files.renewHostKey()
                report(
                    "keys/host.key was missing, and another was made: secrets that were bound to this host (deviceOnly) open with the old one alone"
                )
                return key
            }
            return try KeySources.key(ofOurs: files.hostKeyPath)
        } catch {
            report("what is bound to this host cannot be opened: \(error)")
            return nil
        }
    }

    // MARK: Jobs

    /// - Throws: `busy` when too many wait, `outOfMemory` when the system makes no thread.
    func submit(_ job: KeyJob, ticket: UInt64) throws(KeysFault) {
        guard waiting.count + (isRunning ? 1 : 0) < Self.mostWaiting else { throw .busy }
        do throws(StorageFault) { try thread.begin() } catch { throw .outOfMemory }
        job.ticket = ticket
        job.locks = locks
        waiting.append(job)
        beginNext()
    }

    private func beginNext() {
        guard !isRunning, !waiting.isEmpty else { return }
        isRunning = true
        let job = waiting.removeFirst()
        job.mayCreate = ring.slots == nil && !holdsSecrets()
        job.seal = seal()
        thread.submit(Task(job: job, opened: ring.opened, sources: sources))
    }

    /// Takes in what the jobs that are done have come to.
    /// - Returns: the jobs; nil when there are none.
    func takeDone() -> [KeyJob]? {
        guard let done = thread.takeDone() else { return nil }
        for job in done {
            adopt(job)
            isRunning = false
        }
        beginNext()
        return done
    }

    private func adopt(_ job: KeyJob) {
        job.isDone = true
        Self.tell(job.finished, report)
        if let leftover = job.leftover {
            report(
                "a key file in keys/ could not be overwritten, though no slot needs it any more: \(leftover). The next start tries again"
            )
        }
        switch job.fault {
        case .wrongKey: report("a passphrase or key was tried and opens no slot")
        case .system, .unsynced, .damaged:
            if let fault = job.fault { report("keys: \(fault)") }
        default: break
        }
        switch job.outcome {
        case .opened(let keys):
            // Whoever locked meanwhile wants them locked.
            if job.locks == locks {
                ring.adopt(keys)
            } else {
                ring.adopt(keys.slots)
                if case .unlock = job.task { job.fault = .lockedMeanwhile }
            }
            job.forget()
        case .changed(let slots): ring.adopt(slots)
        case nil:
            // The daemon goes on with the keys that it has; what is wrong with the file shows at the next start as well.
            if case .damaged = job.fault, case .unlock = job.task, let fault = job.fault { ring.adopt(fault) }
        }
    }

    func lock() {
        locks += 1
        ring.lock()
        sources = sources.locked
    }

    func stop() {
        thread.stop()
        waiting = []
    }
}

extension FileSystem {
    fileprivate static func makeKeysDirectory(_ configuration: StorageConfiguration) throws(KeysFault) {
        do throws(StorageFault) {
            guard !exists(configuration.keysDirectory) else { return }
            try makeDirectory(configuration.keysDirectory)
            try syncDirectory(configuration.dataDirectory)
        } catch { throw KeysFault(error) }
    }
}
