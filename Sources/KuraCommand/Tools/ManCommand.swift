import Glibc
import KuraBytes
import KuraProtocol

/// `kura man`: the manual, from the same declarations as the help.
enum ManCommand {
    static let tool = Tool(
        noun: nil, word: "man", arguments: ["[PAGE]", "[VERB]"],
        options: [.init(name: "output", value: "DIR", summary: "Write all pages into this folder, which is made.")],
        summary: "Print a page of the manual, or write all of them.",
        explanation: [
            "PAGE is kura when left out, else a noun (docs) or a command (exec); what is printed is for man: 'kura man docs | man -l -'. With "
                + "--output kura.1, a page for each noun and command (kura-docs.1, kura-exec.1) and kurad.8 are written, as packages have "
                + "them. The pages' date is $SOURCE_DATE_EPOCH's, or today."
        ],
        examples: ["kura man docs | man -l -", "kura man --output man"])

    static func run(
        _ arguments: ToolArguments, _ console: Console, _ catalogue: Catalogue
    ) throws(Failure) -> ExitCode {
        let pages = ManPages(catalogue: catalogue, seconds: try seconds(console))
        if let directory = arguments.value("output") {
            try arguments.check(least: 0, most: 0)
            try write(pages, into: directory, console)
            return .done
        }
        // A verb has no page of its own: it is in its noun's.
        if arguments.words.count == 2, let noun = catalogue.noun(arguments.words[0]) {
            let known = Tool.verbs(of: noun.name).contains { $0.word == arguments.words[1] }
            if !known { _ = try catalogue.verb(arguments.words[1], of: noun) }
            guard let page = pages.page(named: noun.word) else { throw .usage("there is no page on '\(noun.word)'") }
            console.remark("\(arguments.words[1]) is in the page on \(noun.word)")
            console.print(page)
            return .done
        }
        try arguments.check(least: 0, most: 1)
        let name = arguments.words.first ?? "kura"
        guard let page = pages.page(named: name) else {
            if name == "kurad" {
                console.print(try daemon(pages))
                return .done
            }
            throw .usage(
                "there is no page on '\(name)'",
                hint: Suggestion.hint(for: name, among: pages.names) ?? "pages: \(pages.names.joined(separator: ", "))")
        }
        console.print(page)
        return .done
    }

    private static func seconds(_ console: Console) throws(Failure) -> Int64 {
        guard let text = console.environment("SOURCE_DATE_EPOCH"), !text.isEmpty else { return Int64(time(nil)) }
        guard let seconds = Int64(text), (0...253_402_300_799).contains(seconds) else {
            throw .usage("$SOURCE_DATE_EPOCH is seconds since 1970, not '\(text)'")
        }
        return seconds
    }

    private static func daemon(_ pages: ManPages) throws(Failure) -> String {
        var helps: [(title: String, text: String)] = []
        for (title, words) in [
            ("", ["--help"]), ("restore", ["restore", "--help"]), ("doctor", ["doctor", "--help"]),
        ] {
            guard let (status, output) = SiblingProgram.output("kurad", words), status == 0 else {
                throw .usage("kurad lies neither beside kura nor in $PATH, and kurad.8 is made of its help")
            }
            helps.append((title, String(decoding: output, as: UTF8.self)))
        }
        return pages.daemon(helps)
    }

    private static func write(_ pages: ManPages, into directory: String, _ console: Console) throws(Failure) {
        var files = [("kurad.8", try daemon(pages))]
        for name in pages.names {
            guard let page = pages.page(named: name) else { continue }
            files.append((name == "kura" ? "kura.1" : "kura-\(name).1", page))
        }
        // Safety: Swift lends the path as a C string for the call.
        guard unsafe mkdir(directory, 0o755) == 0 || errno == EEXIST else { throw .file("cannot make \(directory)") }
        for (name, text) in files {
            let path = "\(directory)/\(name)"
            let draft = try DraftFile(path, replaces: true)
            // A manual is for everybody.
            guard fchmod(draft.descriptor, 0o644) == 0 else { throw .file("cannot write \(path)") }
            try console.write(Array(text.utf8), to: draft)
        }
        console.remark("\(files.count) pages in \(directory)")
    }
}
