import KuraBytes
import KuraClient
import KuraProtocol

/// `kura secrets audit verify`: the whole audit of secrets, page after page.
enum SecretsAuditVerify {
    static let tool = Tool(
        noun: "secrets", word: "audit verify", arguments: [], options: [],
        summary: "Check that all of the audit is as it was written.",
        explanation: [
            "Each record is opened, each block of them held against the one before it, the last against the audit's head, and that against what the "
                + "secrets know of it: neither can be set back or dropped without the other. "
                + "The first record that was altered or is missing is named, and the command ends with 1.",
            "The head that is printed says what all records have come to: noted elsewhere, it tells later whether the audit was set back "
                + "as a whole.",
        ],
        examples: ["kura secrets audit verify"])

    static func run(
        _ arguments: ToolArguments, _ options: GlobalOptions, _ console: Console, _ catalogue: Catalogue
    ) throws(Failure) -> ExitCode {
        try arguments.check(least: 0, most: 0)
        var session = try Session.open(options, console)
        let method = try catalogue.method(named: "secrets.auditVerify")
        let progress = ProgressLine(console, title: tool.path)
        defer { progress.erase() }
        var records: Int64 = 0
        var cursor: [UInt8]?
        var last: JSONObject?
        repeat {
            let params = cursor.map { [("cursor", $0)] } ?? []
            let result = try session.result(method, JSONParts.object(params), progress: progress)
            guard let page = JSONObject(result), page["valid"] != nil else {
                throw Failure(status: .noDaemon, message: "the answer is none of secrets.auditVerify")
            }
            records = records.plus(page.integer("records") ?? 0)
            progress.update(done: records, total: page.integer("newest"))
            guard page["valid"] == Array("true".utf8) else { throw broken(page, after: records, result) }
            last = page
            cursor = try page.cursor(after: cursor)
        } while cursor != nil
        progress.erase()
        show(last, records, options, console)
        return .done
    }

    private static func broken(_ page: JSONObject, after records: Int64, _ result: [UInt8]) -> Failure {
        let number = page.integer("firstBroken") ?? 0
        let message =
            switch page.string("reason") {
            case "dropped": "the audit was removed: record \(number) and all behind it are missing"
            case "setBack":
                "the audit was set back, by itself or with the secrets: record \(number) and all behind it are missing"
            case "secretsSetBack":
                "the secrets were set back, and the audit was not: they do not know of record \(number)"
            case "beyond":
                "something lies behind record \(max(number, 1) - 1), the newest that the secrets know of"
            case "unbound":
                "the record that tells where the audit ends is altered or missing, or does not fit the services: 'kura secrets verify' tells more"
            default:
                number > 0
                    ? "record \(number) of the audit was altered or is missing; \(records) before it are as they were written"
                    : "the audit was altered: where cannot be told"
            }
        return Failure(status: .refused, message: message, reply: result)
    }

    private static func show(_ page: JSONObject?, _ records: Int64, _ options: GlobalOptions, _ console: Console) {
        guard !console.isQuiet else { return }
        let head = page?.string("head")
        guard options.form == .standard else {
            var members = [("valid", Array("true".utf8)), ("records", Array("\(records)".utf8))]
            members.append(("newest", page?["newest"] ?? Array("0".utf8)))
            if let head { members.append(("head", JSONParts.string(head))) }
            return console.print(line: JSONParts.object(members))
        }
        console.print("\(records) records are as they were written\n")
        if let head { console.print("head \(head)\n") }
    }
}
