import KuraProtocol

@testable import KuraCommand

/// What a command printed, and how it ended.
struct Outcome {
    var status: ExitCode
    var output: String
    var errors: String
}

/// Runs commands within the test's process, against a console that keeps what is printed.
struct CapturedConsole {
    var isTerminal = false
    var width = 80
    var environment: [String: String] = [:]
    var input = ""
    /// What is answered to every question.
    var confirms = false
    /// Somebody sits at standard input.
    var isInputTerminal = false
    var catalogue = Catalogue.standard

    private final class Pages {
        var output: [UInt8] = []
        var errors: [UInt8] = []
    }

    func run(_ arguments: [String]) -> Outcome {
        let pages = Pages()
        let console = Console(
            output: .init(isTerminal: isTerminal) { pages.output += $0 },
            errors: .init(isTerminal: isTerminal) { pages.errors += $0 }, width: width,
            environment: { environment[$0] }, input: { Array(input.utf8) }, isInputTerminal: isInputTerminal,
            confirm: { _ in confirms })
        let status = Kura.run(arguments, console, catalogue)
        return Outcome(
            status: status, output: String(decoding: pages.output, as: UTF8.self),
            errors: String(decoding: pages.errors, as: UTF8.self))
    }

    func run(_ arguments: String..., on server: FakeServer) -> Outcome {
        run(["--socket", server.path] + arguments)
    }

    func run(_ arguments: String...) -> Outcome { run(arguments) }
}

extension Catalogue {
    /// The table, and methods of kinds that it may not have yet: pages, a subscription, a file, every type of parameter.
    static let extended: Catalogue = {
        let names = Set(Method.all.map(\.name))
        return Catalogue(
            Method.all + [watch, importing, exporting, everything, health].filter { !names.contains($0.name) })
    }()

    private static let watch = Method(
        "changes.watch", .storage, .read, needs: .nothing, "Tells every change.",
        parameters: [
            Field("stores", .list(of: .word(["settings", "documents"]), maxItems: 2), "Only these."),
            Field("afterRev", .integer(0...100), "Only newer ones."),
        ],
        result: [
            Field("subscription", .text(maxBytes: 64), required: true, "Its name."),
            Field("rev", .integer(0...100), required: true, "Where it begins."),
        ], example: "{\"stores\":[\"settings\"],\"afterRev\":5}")

    private static let importing = Method(
        "records.import", .documents, .write, needs: .nothing, "Reads records from a file.",
        parameters: [
            Field("collection", .name(maxBytes: 128), required: true, "Where to."),
            Field("fd", .boolean, "The records come from the descriptor."),
            Field("path", .text(maxBytes: 4096), "A file of the daemon's."),
            Field("idField", .name(maxBytes: 128), "The member that is the id."),
        ],
        result: [Field("imported", .integer(0...100), required: true, "Records.")],
        example: "{\"collection\":\"countries\",\"fd\":true,\"idField\":\"alpha_2\"}")

    private static let exporting = Method(
        "records.export", .documents, .read, needs: .nothing, "Writes records into a file.",
        parameters: [
            Field("collection", .name(maxBytes: 128), required: true, "Where from."),
            Field("fd", .boolean, "The records go to the descriptor."),
        ],
        result: [Field("exported", .integer(0...100), required: true, "Records.")],
        example: "{\"collection\":\"countries\",\"fd\":true}")

    private static let everything = Method(
        "records.everything", .documents, .read, needs: .nothing, "Takes every type.",
        parameters: [
            Field("name", .name(maxBytes: 10), required: true, "A name."),
            Field("number", .integer(-10...10), required: true, "A number."),
            Field("mode", .word(["warn", "enforce"]), "A word."), Field("any", .json, "Anything."),
            Field("schema", .object([]), "An object."), Field("isDry", .boolean, "A flag."),
            Field("items", .list(of: .json, maxItems: 9), "A list."),
            Field("labels", .map(of: .text(maxBytes: 9)), "A map."), Field("version", .text(maxBytes: 9), "A version."),
        ],
        result: [Field("done", .boolean, required: true, "True.")],
        example: """
            {"name":"it's","number":-5,"any":"5","isDry":true,"items":["[1]",[2],"a b",{"c":"\\u00e9"},"-"],\
            "labels":{"a":"b=c","d":""},"version":"1.0"}
            """)

    private static let health = Method(
        "storage.health", .storage, .read, needs: .nothing, "Tells whether it is ready.",
        result: [
            Field("live", .boolean, required: true, "True."), Field("ready", .boolean, required: true, "Whether."),
            Field("reasons", .list(of: .text(maxBytes: 99), maxItems: 9), required: true, "Why not."),
        ])
}
