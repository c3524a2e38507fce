import Synchronization

/// What has edits to be saved before the client is closed.
final class PendingEdits: Sendable {
    /// In a struct: a bare closure would be wrapped once more each time that the lock hands it out.
    private struct Saver { let save: @Sendable () async -> Bool }
    private let savers: Mutex<[ObjectIdentifier: Saver]> = Mutex([:])

    /// `save`: returns whether everything is saved.
    func add(_ owner: ObjectIdentifier, _ save: @escaping @Sendable () async -> Bool) {
        savers.withLock { $0[owner] = Saver(save: save) }
    }

    func forget(_ owner: ObjectIdentifier) { savers.withLock { _ = $0.removeValue(forKey: owner) } }

    /// - Returns: whether everything is saved.
    func save() async -> Bool {
        let savers = savers.withLock { Array($0.values) }
        return await withTaskGroup(of: Bool.self) { group in
            for saver in savers { group.addTask { await saver.save() } }
            return await group.reduce(true) { $0 && $1 }
        }
    }
}
