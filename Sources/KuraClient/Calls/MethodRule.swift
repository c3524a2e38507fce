import KuraProtocol

/// What the client has to know of a method to send it, and to send it again.
struct MethodRule: Sendable {
    let isRead: Bool
    /// A write that can be named, so that it is done once however often it is sent.
    let takesKey: Bool
    /// Done twice is as good as once.
    let repeats: Bool
    /// May take minutes.
    let isSlow: Bool
    /// Some parameter or result is a secret.
    let hasSecrets: Bool
    /// It can ask the daemon to wait for something.
    let waits: Bool
    /// Its result may bring a descriptor.
    let bringsDescriptor: Bool
    /// It changes what the connection itself is, and is made of the next one too.
    let isStanding: Bool

    /// Of a method that this client does not know: sent once.
    static let unknown = MethodRule(
        isRead: false, takesKey: false, repeats: false, isSlow: false, hasSecrets: false, waits: false,
        bringsDescriptor: true, isStanding: false)
    static let all: [String: MethodRule] = Dictionary(
        uniqueKeysWithValues: Method.all.map { method in
            let isRead = method.access == .read
            let takesDescriptor = method.parameters.contains { $0.name == "fd" }
            return (
                method.name,
                MethodRule(
                    isRead: isRead, takesKey: method.requestKeyPosition != nil,
                    repeats: repeated.contains(method.name)
                        || isRead && !takesDescriptor && !notRepeated.contains(method.name),
                    isSlow: slow.contains(method.name), hasSecrets: method.hasSecrets,
                    waits: method.parameters.contains { $0.name == "timeoutMs" || $0.name == "waitMs" },
                    bringsDescriptor: method.parameters.contains { $0.name == "as" },
                    isStanding: StandingState.Change.methods.contains(method.name))
            )
        })

    static func of(_ method: String) -> MethodRule { all[method] ?? unknown }

    /// Reads about what the connection had.
    static let notRepeated: Set<String> = ["rpc.cancel", "changes.unwatch", "documents.unwatch"]
    /// Writes without a request key that lead to the same, and are answered the same, done once or twice.
    static let repeated: Set<String> = [
        "models.put", "models.putMany", "models.touch", "models.invalidate", "models.configure", "blobs.put",
        "blobs.touch",
        "blobs.configure", "secrets.lock", "secrets.unlock",
        // One that is lost to an earlier fault has not begun, or its effect has ended with the daemon.
        "fault.inject", "fault.clear",
    ]
    static let slow: Set<String> = [
        "documents.import", "documents.export", "documents.purge", "documents.deleteMany", "documents.configure",
        "settings.configure", "storage.backup", "storage.record", "storage.check", "backups.verify", "backups.prune",
        "secrets.verify",
        "secrets.repair", "secrets.rotate", "secrets.destroyVersion", "secrets.unlock", "secrets.addSlot",
        "secrets.changePassphrase", "secrets.auditVerify",
    ]
}
