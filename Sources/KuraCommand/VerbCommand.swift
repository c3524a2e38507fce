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
    /// A FILE that is there may be replaced.
    let replaces: Bool
    /// Of a list; all when empty.
    let columns: [String]
    /// Where a subscription ends.
    let bounds: Subscription.Bounds
    let options: GlobalOptions
    let console: Console

    private var view: ResultView {
        ResultView(method: verb.method, form: options.form, console: console, columns: columns)
    }

    func run() throws(Failure) -> ExitCode {
        let source = try OpenFile(verb.writesFile ? nil : parameters.file, isRegular: verb.wantsRegularFile)
        // Before anything is asked: a file that is there is not written.
        let written = verb.writesFile ? parameters.file ?? parameters.target : nil
        let draft = try DraftFile(written ?? "-", replaces: replaces)
        let passed = verb.writesFile ? (parameters.file == nil ? nil : draft.descriptor) : source.descriptor
        var session = try Session.open(options, console)
        if wantsAll { return try followCursor(&session) }
        let dropped =
            verb.method.name == "documents.configure" && !console.isQuiet
            ? try IndexCommand.dropped(by: parameters, &session) : []
        let progress = ProgressLine(console, title: verb.path)
        let result: [UInt8]
        do throws(Failure) {
            if verb.method.name == "documents.import", let descriptor = source.descriptor {
                result = try RestartableImport(
                    method: verb.method, descriptor: descriptor, options: options, console: console
                ).run(&session, parameters, progress) { offset in
                    "go on with: \(CommandExample.line(verb, parameters, offset: offset))"
                }
            } else if verb.method.name == "settings.import" {
                result = try importSettings(&session, progress)
            } else {
                result = try session.result(
                    verb.method, parameters.json, passing: passed, progress: progress)
            }
        } catch {
            // The daemon's write has failed, and not one of ours: what reads our output has had enough.
            if parameters.file != nil, verb.writesFile, draft.isStandardOutput { Console.endUnlessRead() }
            throw error
        }
        progress.erase()
        let tellsRevision = verb.method.result.contains { $0.name == "rev" && $0.isRequired }
        if verb.method.access == .write, tellsRevision, JSONObject(result)?.integer("rev") == nil {
            throw Failure(notPromised: "at which revision it was done", access: .write)
        }
        if let target = parameters.target {
            if let object = JSONObject(result), view.isMiss(object) {
                return miss(object, result, draft.isStandardOutput)
            }
            let object = JSONObject(result)
            // The descriptor of a part stands at its beginning, and has the rest behind it.
            let part = object?.object("range")
            let received = try ReceivedFile(session.takeDescriptor())
            if part == nil { try received.expect(object?.string("digest"), verb) }
            let bytes = part?.integer("length") ?? object?.integer("bytes")
            try received.copy(to: draft.descriptor, target, bytes: bytes)
            try draft.finish()
            // Standard output is the content's.
            if draft.isStandardOutput { return .done }
        }
        if verb.showsSecret { return try showSecret(result) }
        if verb.showsSecrets, !console.isQuiet { try askToShow("show the secrets on this terminal?") }
        if verb.writesFile, parameters.file != nil {
            // Each document is a line.
            if verb.method.name == "documents.export" {
                try draft.expect(JSONObject(result)?.integer("exported"), .lines)
            }
            try draft.finish()
            remarkEmpty(result)
        }
        // The same: what is said of the content must not become a part of it.
        if parameters.file != nil, verb.writesFile, draft.isStandardOutput {
            let object = JSONObject(result)
            let members = object?.entries ?? []
            console.remark(members.map { "\($0.name) \(Table.cell($0.value))" }.joined(separator: ", "))
            guard let shortfall = object.flatMap({ Shortfall(verb.method, $0, asked: parameters) }) else {
                return .done
            }
            console.tell(shortfall)
            return shortfall.status
        }
        guard verb.opensSubscription else {
            let status = view.show(result, asked: parameters)
            if status == .done, let remark = Self.passing[verb.method.name] { console.remark(remark) }
            if status == .done, !dropped.isEmpty {
                console.remark(
                    "dropped: \(dropped.map(\.title).joined(separator: ", ")); --indexes takes all that are to stay, "
                        + "'kura docs add-index' adds one to them")
            }
            if AbsentScope.isEmpty(result, of: verb.method) { remarkAbsentScope(&session) }
            return status
        }
        var subscription = Subscription(
            verb: verb, parameters: parameters, columns: columns, bounds: bounds, options: options, console: console)
        try subscription.follow(&session, result)
        return .done
    }

    /// All of them or none: when the daemon goes meanwhile, the next one is sent the same, which is done once.
    private func importSettings(_ session: inout Session, _ progress: ProgressLine) throws(Failure) -> [UInt8] {
        let names = parameters["values"].flatMap { JSONObject($0) }?.entries.flatMap { domain, values in
            JSONObject(values)?.names.map { domain + $0 } ?? []
        }
        let isDry = parameters["dryRun"] == Array("true".utf8)
        return try session.insistentResult(
            verb.method, parameters.json,
            isOnce: !isDry && parameters["requestKey"] == nil && SettingsImport.isKept(names ?? []),
            progress: progress, options, remedy: "the same command again stores nothing twice")
    }

    /// What lasts as long as a connection, and this command's ends here.
    private static let passing = [
        "settings.override":
            "an override lasts as long as the connection that has made it, and this one ends here: nothing was kept",
        "documents.unwatch":
            "a connection ends its own subscriptions only, and this one has none: 'kura docs watch' ends with ^C",
        "changes.unwatch":
            "a connection ends its own subscriptions only, and this one has none: 'kura watch' ends with ^C",
    ]

    /// A collection that is not there has no documents either, and its name may be misspelt.
    private func remarkEmpty(_ result: [UInt8]) {
        guard JSONObject(result)?.integer("exported") == 0,
            let name = parameters["collection"].flatMap(JSONObject.string)
        else { return }
        console.remark("there are no documents in '\(name)'; 'kura docs scopes' names the collections")
    }

    /// Beside an empty list or a count of nothing.
    private func remarkAbsentScope(_ session: inout Session) {
        guard !options.isQuiet, let remark = AbsentScope(verb.method, parameters)?.remark(&session) else { return }
        console.remark(remark)
    }

    /// There is no content to write: the file is not touched, and standard output, when it is the content's, stays empty.
    private func miss(_ object: JSONObject, _ result: [UInt8], _ isStandardOutput: Bool) -> ExitCode {
        if isStandardOutput {
            console.remark("nothing is there" + (object.string("token").map { "; token \($0)" } ?? ""))
        } else {
            _ = view.show(result, asked: parameters)
        }
        // With a token, too: whoever goes on with the file would find none.
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
            console.print(raw: value.raw)
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
        // A page may look at everything anew.
        if asked["limit"] == nil, asked["cursor"] == nil, let limit = verb.largestPage {
            asked["limit"] = Array(String(limit).utf8)
        }
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
        defer {
            if count == 0 { remarkAbsentScope(&session) }
            for scope in verb.isWhole && !options.isQuiet ? AbsentScope.missing(verb.method, parameters, in: pages) : []
            {
                if let remark = scope.remark(&session) { console.remark(remark) }
            }
        }
        guard isTogether, !console.isQuiet else { return .done }
        if options.form == .json {
            console.print(line: listing.joined(pages))
        } else {
            view.show(pages.flatMap { listing.items(of: $0) }, listing)
        }
        return .done
    }
}
