import KuraClient
import KuraProtocol

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

    private static let columns = [
        "path", "what", "data", "changedBy", "survivesRestart", "inBackup", "purgeable", "byDescriptor",
    ]

    private static let tables = Method.Store.durable.map { store in
        store.facts.keeping == .sealed ? "\(store.rawValue) (sealed)" : store.rawValue
    }

    /// In the order of `columns`.
    private static let places = [
        [
            "log/", "changes, before they are folded; the feed", "user", "clients", "yes", "as far as needed",
            "folded ones", "no",
        ],
        [
            "durable/kura.sqlite", (tables + ["indexes"]).joinedByCommas, "user", "clients", "yes",
            "yes, but for backup: false", "no", "no",
        ],
        ["durable/attachments/", "attachments of documents", "user", "clients", "yes", "yes", "no", "yes"],
        [
            "cache/", "the model cache, small blobs, the blobs' index", "application", "clients", "may be lost",
            "never",
            "yes", "sealed copy",
        ],
        ["cache/blobs/", "large blobs", "application", "clients", "may be lost", "never", "yes", "yes"],
        [
            "keys/slots.json", "what leads to the secrets' root key", "user", "administrators", "yes",
            "with the secrets", "no", "no",
        ],
        [
            "keys/root.key, keys/host.key", "keys: whoever has them and the rest has the secrets", "user",
            "administrators", "yes", "never", "no", "no",
        ],
        ["backups/", "snapshots", "user", "administrators", "yes", "never", "by age only", "no"],
        ["quarantine/", "what a recovery set aside", "user", "nobody", "yes", "never", "never by itself", "no"],
        ["tmp/", "what is on its way", "none", "nobody", "no", "never", "yes", "no"],
        [
            "ballast, audit", "room in reserve for a full disk", "none", "nobody", "yes", "never", "when needed", "no",
        ],
        [
            "lock, clean, seed.json", "who runs; how the last run ended; which seed bundle it began with", "none",
            "nobody", "yes", "never", "no", "no",
        ],
    ]

    static func run(_ arguments: ToolArguments, _ options: GlobalOptions, _ console: Console) throws(Failure)
        -> ExitCode
    {
        try arguments.check(least: 0, most: 0)
        guard !console.isQuiet else { return .done }
        guard options.form == .standard, console.output.isTerminal else {
            for place in places {
                console.print(line: JSONParts.object(zip(columns, place).map { ($0, JSONParts.string($1)) }))
            }
            return .done
        }
        // Wider than terminals are: a block each instead of a row.
        for (index, place) in places.enumerated() {
            if index > 0 { console.print("\n") }
            console.print(console.style.bold(place[0]) + "\n")
            console.print("    " + Layout.paragraph(place[1], width: console.width - 1, indent: 4))
            for (column, cell) in zip(columns, place).dropFirst(2) {
                console.print("    \(Visible.padded(column, to: 17)) \(cell)\n")
            }
        }
        return .done
    }
}
