import Glibc
import KuraBytes
import KuraClient
import KuraProtocol

/// Calls a verb's method and prints what comes.
struct VerbCommand {
    let verb: Verb
    let parameters: Parameters
    let wantsAll: Bool
    let options: GlobalOptions
    let console: Console

    private var view: ResultView { ResultView(method: verb.method, form: options.form, console: console) }

    func run() throws(Failure) -> ExitCode {
        let file = try OpenFile(
            parameters.file, access: verb.method.access, isRegular: verb.wantsRegularFile)
        var session = try Session.open(options, console)
        if wantsAll { return try followCursor(&session) }
        let progress = ProgressLine(console, title: verb.path)
        let result = try session.result(
            verb.method, parameters.json, passing: file.descriptor, progress: progress)
        progress.erase()
        if let target = parameters.target {
            try ReceivedFile(session.takeDescriptor()).copy(to: target)
            // Standard output is the content's.
            if target == "-" { return .done }
        }
        guard verb.opensSubscription else { return view.show(result, asked: parameters) }
        var stream = StreamView(form: options.form, console: console)
        stream.begin(result)
        while true { stream.show(try session.nextNotice()) }
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
