extension Method {
    /// What starts had to set aside, and what is looked through.
    static let recoveryMethods: [Method] = [
        Method(
            "storage.quarantine", .storage, .read, needs: .whole(.admin),
            "Lists what was set aside, beneath the data directory's quarantine/; the daemon never removes any of it.",
            result: [
                Field(
                    "items",
                    .list(
                        of: .object([
                            Field("name", .text(maxBytes: 256), required: true, "Its name below quarantine/."),
                            Field("at", .timestamp, required: true, "When it was set aside."),
                            Field("reason", .text(maxBytes: 4096), required: true, "Why."),
                            Field("bytes", .count, required: true, "Sizes of its files."),
                            Field("files", .count, required: true, "How many they are."),
                        ]), maxItems: 10_000), required: true, "In the order of their names."),
                Field("bytes", .count, required: true, "Sizes of all of them."),
            ]),
        Method(
            "storage.acknowledge", .storage, .write, needs: .whole(.admin),
            "Clears the notices that `storage.status` has under `recovered`; what was set aside stays where it is.",
            result: [Field("acknowledged", .count, required: true, "Notices that there were.")],
            errors: [.noSpace], apart: true),
        Method(
            "storage.check", .storage, .read, needs: .whole(.admin),
            "Looks through everything that the data directory has, while the daemon serves, and tells what is damaged.",
            result: [
                Field(
                    "problems",
                    .list(
                        of: .object([
                            Field(
                                "what",
                                .word([
                                    "table", "collection", "segment", "cache", "blob", "attachment", "orphan", "secret",
                                ]), required: true, "What kind of thing it is."),
                            Field(
                                "where", .text(maxBytes: 1024), required: true,
                                "A table, a collection, a file below the data directory, or a digest."),
                            Field("problem", .text(maxBytes: 4096), required: true, "What is wrong."),
                        ]), maxItems: 1000), required: true, "What was found; empty when all is well."),
                Field(
                    "problemCount", .count, required: true, "How many there are; beyond 1,000 they are only counted."),
                Field("checked", .map(of: .count), required: true, "How much was looked at, by kind."),
                Field(
                    "skipped", .list(of: .text(maxBytes: 256), maxItems: 8), required: true,
                    "What could not be looked at, and why."),
                .nowRev,
            ], errors: [.overloaded, .shuttingDown], outOfBand: true),
    ]

    static let lastCheck: [Field] = [
        Field("running", .boolean, required: true, "Whether one is under way that nobody has asked for."),
        Field("at", .timestamp, "When the last one ended."),
        Field("problems", .count, "How many problems it has found."),
    ]

    /// How the run before this one ended, when it ended in a trap.
    static let lastTrap: [Field] = [
        Field("at", .timestamp, required: true, "When it ended."),
        Field("signal", .text(maxBytes: 16), required: true, "The signal, `SIGILL` and the like."),
        Field("thread", .text(maxBytes: 16), required: true, "The thread that trapped."),
        Field("servedMilliseconds", .count, "How long that run had served; left out when it did not come so far."),
        Field("rev", .revision, "The change that the thread was at; left out when it was none in particular."),
        Field("line", .text(maxBytes: 4096), required: true, "All of that, for people."),
        Field("help", .text(maxBytes: 4096), required: true, "What to do about it."),
    ]

    /// Damage that anything has met while the daemon serves.
    static let damage: [Field] = [
        Field("file", .text(maxBytes: 256), required: true, "The file, below the data directory."),
        Field(
            "kind", .word(["damaged", "unreadable"]), required: true,
            "`damaged`: it is not what was written there; `unreadable`: the disk does not give it, or it is gone."),
        Field("count", .count, required: true, "Times that it was met; the log has a line for the first."),
        Field("firstAt", .timestamp, required: true, "When it was met first."),
        Field("lastAt", .timestamp, required: true, "When it was met last."),
        Field("reason", .text(maxBytes: 4096), required: true, "What SQLite or the system said."),
        Field("help", .text(maxBytes: 4096), "The command that helps."),
    ]

    /// Scheduled snapshots: the daemon makes them by itself.
    static let scheduledBackups: [Field] = [
        Field("everySeconds", .count, required: true, "`backups.every` of the configuration."),
        Field(
            "newestAt", .timestamp, "When the newest was made; left out when there is none, or nobody has looked yet."),
        Field("failures", .count, required: true, "Snapshots that were not made, since the start."),
        Field("lastFailureAt", .timestamp, "When that was last, if none was made since."),
        Field("lastFailure", .text(maxBytes: 4096), "Why."),
    ]

    static let seedBundle: [Field] = [
        Field("file", .text(maxBytes: 4096), required: true, "The file, as the daemon was told."),
        Field(
            "state", .word(["notNeeded", "laidDown", "failed"]), required: true,
            "`notNeeded`: there was data, and the file was not looked at; `failed`: something that was absent began empty."
        ),
        Field(
            "stores", .list(of: .word(Store.bundled.words), maxItems: Store.bundled.count), required: true,
            "What this start has laid down."),
        Field("problem", .text(maxBytes: 4096), "Why what is missing was not laid down."),
    ]

    static let recovered: [Field] = [
        Field("at", .timestamp, required: true, "When the start was that did so."),
        Field(
            "what", .word(["durable", "log", "caches"]), required: true,
            "Tables and log, segments of the log that are damaged or gone, or files of caches."),
        Field("phase", .text(maxBytes: 32), required: true, "What the failed starts had come to."),
        Field("reason", .text(maxBytes: 4096), required: true, "Why they failed."),
        Field("quarantine", .text(maxBytes: 256), "Name below quarantine/ of what was set aside."),
        Field("files", .list(of: .text(maxBytes: 256), maxItems: 100_000), "Files of caches that were dropped."),
        Field(
            "startedFrom", .word(["tables", "salvage", "snapshot", "bundle", "nothing"]),
            "A copy of the tables, what could be read of damaged tables, a snapshot, the seed bundle or nothing; changes of the log were added to it."
        ),
        Field("snapshot", .text(maxBytes: 256), "The snapshot's name."),
        Field(
            "leftOut",
            .list(
                of: .object([
                    Field(
                        "store", .text(maxBytes: 32), required: true,
                        "\(Store.durable.quoted.listed("or")); `settings or secrets` and `documents or secrets` where nothing is left that tells."
                    ),
                    Field(
                        "scope", .text(maxBytes: 256),
                        "Domain, collection or service; left out where the snapshot does not name it."),
                    Field("count", .count, required: true, "Items, as of the snapshot."),
                    Field(
                        "reason", .word(["marked", "deviceOnly", "damaged", "locked"]), required: true,
                        "As in `storage.backup`."),
                ]), maxItems: 260),
            "What the snapshot leaves out or could not be read of damaged tables, by scope: of that only what the log has had since is there. Left out when there is nothing."
        ),
        Field(
            "savedRev", .revision,
            "Every change up to this revision of the history before is there, but for what `leftOut` names."),
        Field(
            "newestRev", .revision,
            "Newest revision that was found in what was set aside: changes above `savedRev` are only there. With `log` the newest that is known to have been given out."
        ),
        Field(
            "missing",
            .list(
                of: .object([
                    Field("store", .text(maxBytes: 32), "Absent when nothing is left that tells."),
                    Field("scope", .text(maxBytes: 256), "The domain or collection; absent where names are sealed."),
                    Field("fromRev", .revision, required: true, "The first of the revisions."),
                    Field("toRev", .revision, required: true, "The last of them."),
                ]), maxItems: 64),
            "Changes that were acknowledged and are lost, since the log was damaged; everything else is there."),
    ]
}
