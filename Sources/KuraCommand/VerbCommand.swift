import Glibc
import KuraBytes
import KuraClient
import KuraProtocol

/// Calls a verb's method and prints what comes.
struct VerbCommand {
    let verb: Verb
    let parameters: Parameters
    let wantsAll: Bool
    /// Shows a secret on a terminal without asking.
    let shows: Bool
    /// Of a list; all when empty.
    let columns: [String]
    let options: GlobalOptions
    let console: Console

    private var view: ResultView {
        ResultView(method: verb.method, form: options.form, console: console, columns: columns)
    }

    func run() throws(Failure) -> ExitCode {
        let file = try OpenFile(
            parameters.file, access: verb.method.access, isRegular: verb.wantsRegularFile)
        var session = try Session.open(options, console)
        if wantsAll { return try followCursor(&session) }
        let progress = ProgressLine(console, title: verb.path)
        let result: [UInt8]
        do throws(Failure) {
            if verb.method.name == "documents.import", let descriptor = file.descriptor {
                result = try RestartableImport(
                    method: verb.method, descriptor: descriptor, options: options, console: console
                ).run(&session, parameters, progress) { offset in
                    "go on with: \(CommandExample.line(verb, parameters, offset: offset))"
                }
            } else {
                result = try session.result(
                    verb.method, parameters.json, passing: file.descriptor, progress: progress)
            }
        } catch {
            // The daemon's write has failed, and not one of ours: what reads our output has had enough.
            if parameters.file == "-", verb.method.access == .read { Console.endUnlessRead() }
            throw error
        }
        progress.erase()
        if let target = parameters.target {
            if let object = JSONObject(result), view.isMiss(object) { return miss(object, result, target) }
            try ReceivedFile(session.takeDescriptor()).copy(to: target)
            // Standard output is the content's.
            if target == "-" { return .done }
        }
        if verb.showsSecret { return try showSecret(result) }
        if verb.showsSecrets, !console.isQuiet { try askToShow("show the secrets on this terminal?") }
        // The same: what is said of the content must not become a part of it.
        if parameters.file == "-", verb.method.access == .read {
            let members = JSONObject(result)?.entries ?? []
            console.remark(members.map { "\($0.name) \(Table.cell($0.value))" }.joined(separator: ", "))
            return .done
        }
        guard verb.opensSubscription else { return view.show(result, asked: parameters) }
        var subscription = Subscription(
            verb: verb, parameters: parameters, columns: columns, options: options, console: console)
        try subscription.follow(&session, result)
    }

    /// There is no content to write: the file is not touched, and standard output, when it is the content's, stays empty.
    private func miss(_ object: JSONObject, _ result: [UInt8], _ target: String) -> ExitCode {
        guard target == "-" else { return view.show(result, asked: parameters) }
        console.remark("nothing is there" + (object.string("token").map { "; token \($0)" } ?? ""))
        return .absent
    }

    /// Raw into a pipe or a file; on a terminal somebody may look over the shoulder, so it is asked first.
    private func showSecret(_ result: [UInt8]) throws(Failure) -> ExitCode {
        let object = JSONObject(result)
        if let sealed = object?.string("secretSealed"), options.form == .standard {
            if !console.isQuiet { console.print(sealed + "\n") }
            return .done
        }
        guard let object, let value = SecretValue(object) else { return try absent(result) }
        if console.isQuiet { return .done }
        try askToShow("show the secret on this terminal?")
        if options.form != .standard {
            console.print(line: result)
        } else if !console.output.isTerminal {
            console.output.write(value.raw)
        } else if case .dictionary(let texts) = value {
            console.print(Visible.text(String(decoding: JSONDocument.indented(texts), as: UTF8.self)) + "\n")
        } else if let text = String(validating: value.raw, as: UTF8.self) {
            console.print(Visible.text(text) + "\n")
        } else {
            throw Failure(
                status: .refused, message: "the secret is bytes, which no terminal shows",
                hint: "send it to a file: kura \(verb.path) … > FILE")
        }
        return .done
    }

    /// - Throws: when the answer is no.
    private func askToShow(_ question: String) throws(Failure) {
        guard console.output.isTerminal, !shows, !console.confirm(question) else { return }
        throw Failure(status: .refused, message: "the secret was not shown", hint: "--show shows it without asking")
    }

    private func absent(_ result: [UInt8]) throws(Failure) -> ExitCode {
        if options.form == .standard {
            console.remark("nothing is there")
        } else if !console.isQuiet {
            console.print(line: result)
        }
        return .absent
    }

    /// Page after page; those of a table and of `--json` are printed together.
    private func followCursor(_ session: inout Session) throws(Failure) -> ExitCode {
        guard let listing = Listing(verb.method) else { throw .usage("\(verb.path) has no pages") }
        let isTogether = options.form == .json || options.form == .standard && console.output.isTerminal
        let progress = ProgressLine(console, title: verb.path)
        defer { progress.erase() }
        var asked = parameters
        var pages: [JSONObject] = []
        var count: Int64 = 0
        while true {
            let result = try session.result(verb.method, asked.json, progress: progress)
            guard let page = JSONObject(result) else {
                throw Failure(status: .noDaemon, message: "the answer is no object")
            }
            let items = listing.items(of: page)
            count += Int64(items.count)
            progress.update(done: count)
            if isTogether { pages.append(page) } else if !console.isQuiet { view.show(items, listing) }
            guard let cursor = page["cursor"], cursor != asked["cursor"] else { break }
            asked["cursor"] = cursor
        }
        progress.erase()
        guard isTogether, !console.isQuiet else { return .done }
        if options.form == .json {
            console.print(line: listing.joined(pages))
        } else {
            view.show(pages.flatMap { listing.items(of: $0) }, listing)
        }
        return .done
    }
}
