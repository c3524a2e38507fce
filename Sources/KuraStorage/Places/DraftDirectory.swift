import Glibc

/// A directory that this process has made for itself, under a name that nobody can know before, and holds.
///
/// It gets its own name when all is in it, or goes with everything that is in it: by the descriptor, so that a link or another directory in its
/// place is neither written to nor emptied. Whoever may rename it (the owner of the directory that it is in) can at most carry it away.
package struct DraftDirectory: ~Copyable {
    private let parent: OpenDirectory
    private let name: String
    let directory: OpenDirectory

    /// Names that are tried: one that is taken already is a coincidence, or somebody's intent.
    private static let attempts = 8

    private init(parent: consuming OpenDirectory, name: String, directory: consuming OpenDirectory) {
        self.parent = parent
        self.name = name
        self.directory = directory
    }

    /// Makes one.
    /// `prefix`: how its name begins.
    /// `ending`: how it ends, another one at each call.
    static func make(
        in parent: consuming OpenDirectory, prefix: String,
        ending: () -> String = { String(UInt64.random(in: 0 ... .max), radix: 36) }
    ) throws(StorageFault) -> DraftDirectory {
        for _ in 0..<attempts {
            let name = prefix + ending()
            guard try parent.make(name) else { continue }
            let directory = try parent.open(name)
            // Between the two calls somebody may have put another one there. An empty one of our own is as good as ours.
            guard directory.information()?.st_uid == geteuid(), try directory.isEmpty() else {
                throw .refused("\(directory.path) was exchanged for another directory as it was made")
            }
            return DraftDirectory(parent: parent, name: name, directory: directory)
        }
        throw .refused("no new name for a directory could be found in \(parent.path)")
    }

    /// Makes one in a directory of our own.
    package static func make(in parent: String, prefix: String) throws(StorageFault) -> DraftDirectory {
        try make(in: OpenDirectory(parent), prefix: prefix)
    }

    /// Makes one in DATA/tmp, for what is made of a backup.
    static func scratch(
        _ configuration: StorageConfiguration, prefix: String
    ) throws(BackupFault) -> DraftDirectory {
        do throws(StorageFault) { return try make(in: configuration.temporaryDirectory, prefix: prefix) } catch {
            throw BackupFault(error)
        }
    }

    /// Its path. Where others may rename what lies beside it, `directory.ownPath` is the one to go by.
    package var path: String { directory.path }

    /// Gives it the name `target` beside its own, durably.
    /// `takesEmpty`: an empty directory may be there, and goes.
    func publish(as target: String, takesEmpty: Bool) throws(StorageFault) {
        let place = parent.path(of: target)
        guard parent.names(name, directory) else {
            throw .refused("\(path) was moved away or exchanged meanwhile")
        }
        guard try parent.rename(name, to: target, takesEmpty: takesEmpty) else {
            throw .refused("\(place) has come to be there meanwhile")
        }
        guard parent.names(target, directory) else {
            throw .refused("\(path) was exchanged meanwhile: \(place) is not what was made")
        }
        try parent.sync()
    }

    /// Takes it away, with all that is in it. One that was carried away is left where it is, empty.
    package func discard() {
        try? directory.clear()
        // In between somebody may put another directory there. It would have to be empty to go.
        if parent.names(name, directory) { try? parent.removeEmpty(name) }
    }
}
