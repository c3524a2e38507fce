import Glibc

/// A path of ours in a data directory: what belongs there, and what a start does when something else is there.
///
/// One table: a start, `kurad doctor` and the tests ask it, and proto-docs/storage.md tells it.
package struct Place: Equatable, Sendable {
    package enum Kind: Sendable { case directory, file }

    /// What is at stake.
    enum Stake: Sendable {
        /// Can be made anew, or may be lost: whatever is in the way is set aside, and the start goes on.
        case none
        /// Acknowledged changes or keys may be elsewhere: to go on without them would lose them, so the start is refused.
        case data
    }

    /// Below the data directory.
    var name: String
    package var kind: Kind
    var stake: Stake
    /// Nobody else may even read it.
    var isPrivate = false

    /// What has a name of its own, parents before what is in them.
    static let named: [Place] =
        [
            Place(name: "quarantine", kind: .directory, stake: .none),
            Place(name: "log", kind: .directory, stake: .data),
            Place(name: "durable", kind: .directory, stake: .data),
            Place(name: "durable/attachments", kind: .directory, stake: .data),
            Place(name: "durable/kura.sqlite", kind: .file, stake: .data),
            Place(name: "durable/kura.sqlite-wal", kind: .file, stake: .data),
            Place(name: "durable/kura.sqlite-journal", kind: .file, stake: .data),
            Place(name: "durable/kura.sqlite-scrub", kind: .file, stake: .data),
            Place(name: "durable/kura.sqlite-shm", kind: .file, stake: .none),
            Place(name: "durable/layout", kind: .file, stake: .none),
            Place(name: "keys", kind: .directory, stake: .data),
            Place(name: "keys/slots.json", kind: .file, stake: .data, isPrivate: true),
            Place(name: "keys/root.key", kind: .file, stake: .data, isPrivate: true),
            Place(name: "keys/root.key.next", kind: .file, stake: .data, isPrivate: true),
            Place(name: "keys/host.key", kind: .file, stake: .data, isPrivate: true),
            Place(name: "tmp", kind: .directory, stake: .none),
            Place(name: "backups", kind: .directory, stake: .none),
            Place(name: "cache", kind: .directory, stake: .none),
            Place(name: "cache/blobs", kind: .directory, stake: .none),
            Place(name: "cache/clean", kind: .file, stake: .none),
        ]
        + [
            "lock", "boot.json", "recovered.json", "clean", "acknowledged", "ballast", "audit", "writes", "seed.json",
            "trap",
        ]
        .map {
            Place(name: $0, kind: .file, stake: .none)
        }

    /// The lock is looked at before all others.
    static let lock = Place(name: "lock", kind: .file, stake: .none)

    var isKey: Bool { name == "keys" || name.hasPrefix("keys/") }

    /// What belongs to a file that is found in one of our directories; nil for what is not ours.
    private static func found(_ name: String, in directory: String) -> Place? {
        let path = directory.isEmpty ? name : directory + "/" + name
        // What was in the way before, by a start or by whoever did what a refusal said.
        if name.contains(".aside") { return nil }
        // Drafts of files that are put in another's place.
        if name.hasSuffix(".new"), directory != "log", directory != "cache" {
            return Place(name: path, kind: .file, stake: .none)
        }
        switch directory {
        // Kept to make the next segment of.
        case "log" where name.hasPrefix("spare"): return Place(name: path, kind: .file, stake: .none)
        case "log" where LogFiles.isOurs(name): return Place(name: path, kind: .file, stake: .data)
        case "cache" where [".sqlite", "-wal", "-shm", "-journal"].contains { name.hasSuffix($0) }:
            return Place(name: path, kind: .file, stake: .none)
        default: return nil
        }
    }

    /// Everything that has a place in a data directory, there or not.
    /// `withKeys`: false for a daemon that goes without secrets, to which their files are nothing.
    static func all(_ configuration: StorageConfiguration, withKeys: Bool = true) -> [Place] {
        var places = named
        for directory in ["", "log", "durable", "cache", "keys"] {
            let path = configuration.dataDirectory + (directory.isEmpty ? "" : "/" + directory)
            // Not through a link; and what cannot be listed is told of itself.
            guard FileSystem.isDirectory(path) else { continue }
            for name in ((try? FileSystem.names(in: path)) ?? []).sorted() {
                if let place = found(name, in: directory) { places.append(place) }
            }
        }
        return withKeys ? places : places.filter { !$0.isKey }
    }
}
