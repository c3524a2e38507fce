import KuraClient
import KuraProtocol

/// `kura bundle create`: a seed bundle into a local file.
enum BundleCommand {
    static let tool = Tool(
        noun: nil, word: "bundle", arguments: ["create", "FILE"],
        options: [
            .parts("include", Method.Store.bundled.words, such: "models/feed"),
            .replace(),
        ],
        summary: "Write what other daemons are to begin with into a file: a seed bundle.",
        explanation: [
            "Settings, documents with their attachments, and models, as of one revision, while the daemon goes on. Nothing of what was "
                + "deleted, of the secrets and of the blobs is in it, nor what is configured with 'backup: false', nor what came from a "
                + "seed bundle itself and has not been changed since. It is not encrypted. FILE gets its name when it is whole, and takes another's place only with "
                + "--replace.",
            "'kurad --seed-bundle FILE' lays it down where there is nothing: settings and documents at the first start, models also when the "
                + "model cache has been dropped. Models are stale then, so whoever is the first to ask fetches them anew.",
            "Start a daemon over an empty directory, have the application fill it, create the bundle, and ship it with the application.",
        ],
        examples: [
            "kura bundle create first-start.kurabundle",
            "kura bundle create catalogue.kurabundle --include models/catalogue --include settings",
        ], takesFile: true)

    static func run(
        _ arguments: ToolArguments, _ options: GlobalOptions, _ console: Console, _ catalogue: Catalogue
    ) throws(Failure) -> ExitCode {
        try arguments.check(least: 2, most: 2)
        guard arguments.words[0] == "create" else {
            throw .usage("bundle has no verb '\(arguments.words[0])'", hint: "usage: kura \(tool.usage)")
        }
        let path = arguments.words[1]
        var members = [("fd", Array("true".utf8))]
        let include = arguments.values("include")
        if !include.isEmpty { members.append(("include", BackupCommand.list(include))) }
        let result = try BackupCommand.write(
            path, arguments, "storage.bundle", JSONParts.object(members), "bundle create", options, console, catalogue)
        BackupCommand.show(result, path, options, console, isEncryptable: false) { count in
            (Method.Store.all(.clear).words + ["attachments", "models"]).map(count).joinedByCommas
                + " of \(count("namespaces"))"
        }
        return try BackupCommand.status(of: result, "storage.bundle", options, console, catalogue)
    }
}
