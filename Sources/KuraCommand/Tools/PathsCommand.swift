import KuraClient

/// `kura paths`: what lies where in the data directory, and which rules hold there.
enum PathsCommand {
    static let tool = Tool(
        noun: nil, word: "paths", arguments: [], options: [],
        summary: "Tell what lies where in the data directory, and which rules hold there.",
        explanation: [
            "For each place: what it holds; whose data that is (the application's, which it can make anew, or the user's, which nobody else "
                + "has); whether clients change it; whether it lives through a restart; whether it is in a backup; whether it goes when the "
                + "disk is nearly full; whether its contents can be had as a descriptor."
        ],
        examples: ["kura paths", "kura paths --json"])

    struct Place {
        let path: String
        let what: String
        let data: String
        let changedBy: String
        let survives: String
        let inBackup: String
        let purgeable: String
        let byDescriptor: String
    }

    private static let columns = [
        "path", "what", "data", "changedBy", "survivesRestart", "inBackup", "purgeable", "byDescriptor",
    ]

    static let places = [
        Place(
            path: "log/", what: "changes, before they are folded; the feed", data: "user", changedBy: "clients",
            survives: "yes", inBackup: "as far as needed", purgeable: "folded ones", byDescriptor: "no"),
        Place(
            path: "durable/kura.sqlite", what: "settings, secrets (sealed), documents, indexes", data: "user",
            changedBy: "clients", survives: "yes", inBackup: "yes, but for backup: false", purgeable: "no",
            byDescriptor: "no"),
        Place(
            path: "durable/attachments/", what: "attachments of documents", data: "user", changedBy: "clients",
            survives: "yes", inBackup: "yes", purgeable: "no", byDescriptor: "yes"),
        Place(
            path: "cache/", what: "the model cache, small blobs, the blobs' index", data: "application",
            changedBy: "clients", survives: "may be lost", inBackup: "never", purgeable: "yes",
            byDescriptor: "sealed copy"),
        Place(
            path: "cache/blobs/", what: "large blobs", data: "application", changedBy: "clients",
            survives: "may be lost", inBackup: "never", purgeable: "yes", byDescriptor: "yes"),
        Place(
            path: "keys/slots.json", what: "what leads to the secrets' root key", data: "user",
            changedBy: "administrators", survives: "yes", inBackup: "with the secrets", purgeable: "no",
            byDescriptor: "no"),
        Place(
            path: "keys/root.key, keys/host.key", what: "keys: whoever has them and the rest has the secrets",
            data: "user", changedBy: "administrators", survives: "yes", inBackup: "never", purgeable: "no",
            byDescriptor: "no"),
        Place(
            path: "backups/", what: "snapshots", data: "user", changedBy: "administrators", survives: "yes",
            inBackup: "never", purgeable: "by age only", byDescriptor: "no"),
        Place(
            path: "quarantine/", what: "what a recovery set aside", data: "user", changedBy: "nobody", survives: "yes",
            inBackup: "never", purgeable: "never by itself", byDescriptor: "no"),
        Place(
            path: "tmp/", what: "what is on its way", data: "none", changedBy: "nobody", survives: "no",
            inBackup: "never", purgeable: "yes", byDescriptor: "no"),
        Place(
            path: "ballast, audit", what: "room in reserve for a full disk", data: "none", changedBy: "nobody",
            survives: "yes", inBackup: "never", purgeable: "when needed", byDescriptor: "no"),
        Place(
            path: "lock, clean, seed.json", what: "who runs; how the last run ended; which seed bundle it began with",
            data: "none", changedBy: "nobody",
            survives: "yes", inBackup: "never", purgeable: "no", byDescriptor: "no"),
    ]

    static func run(_ arguments: ToolArguments, _ options: GlobalOptions, _ console: Console) throws(Failure)
        -> ExitCode
    {
        try arguments.check(least: 0, most: 0)
        guard !console.isQuiet else { return .done }
        let rows = places.map { place in
            [
                place.path, place.what, place.data, place.changedBy, place.survives, place.inBackup, place.purgeable,
                place.byDescriptor,
            ]
        }
        guard options.form == .standard, console.output.isTerminal else {
            for row in rows {
                console.print(line: JSONParts.object(zip(columns, row).map { ($0, JSONParts.string($1)) }))
            }
            return .done
        }
        // Wider than terminals are: a block each instead of a row.
        for (index, row) in rows.enumerated() {
            if index > 0 { console.print("\n") }
            console.print(console.style.bold(row[0]) + "  " + row[1] + "\n")
            for (column, cell) in zip(columns, row).dropFirst(2) {
                let space = String(repeating: " ", count: 18 - column.count)
                console.print("    \(column)\(space)\(cell)\n")
            }
        }
        return .done
    }
}
