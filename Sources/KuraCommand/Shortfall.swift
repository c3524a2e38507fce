import KuraBytes
import KuraClient
import KuraProtocol

/// A reply without an error that says that what was asked for was not done, or not all of it: a cache that declined, a token that
/// counts no longer, a check that found something.
///
/// What is as it was to be is none: deleting what is not there, putting what is there already.
struct Shortfall {
    let status: ExitCode
    /// One line.
    let message: String
    var hint: String?
    /// What was left out, by name and reason.
    var leftOut: [String] = []

    /// - Parameters:
    ///   - method: what was called.
    ///   - result: what it answered.
    ///   - asked: its parameters.
    init?(_ method: Method, _ result: JSONObject, asked: Parameters) {
        let declined = result["declined"].flatMap(JSONElements.read)?.compactMap { JSONObject($0) } ?? []
        let errors = result["errors"].flatMap(JSONElements.read)?.compactMap { JSONObject($0) } ?? []
        let skipped = result.integer("skipped") ?? 0
        let left = result.integer("left") ?? 0
        let damaged = result.integer("attachmentsDamaged") ?? 0
        let isTrial = asked["dryRun"].map { $0 == Array("true".utf8) } ?? false
        switch method.verb {
        case "put", "begin-upload", "commit-upload":
            // Who asked for it not to be kept has got that.
            guard result.boolean("stored") == false, let reason = result.string("reason"), reason != "notWanted" else {
                return nil
            }
            status = .declined
            message = "nothing was stored: \(Self.words(reason))"
            hint = Self.hint(reason, method)
        case "put-many" where !declined.isEmpty:
            let stored = result.integer("stored") ?? 0
            status = stored > 0 ? .partly : .declined
            message = "\(stored) of \(Int(stored) + declined.count) stored"
            leftOut = declined.map { entry in
                "\(entry.string("key") ?? ""): \(Self.words(entry.string("reason") ?? ""))"
            }
        case "touch" where (result.boolean("touched") ?? result.boolean("found")) == false:
            status = .declined
            message = "nothing is there that could live longer"
        case "fail" where result.boolean("ended") == false:
            status = .declined
            message = "the token counts no longer: it was used, or its time is over"
        case "configure" where result.boolean("applied") == false && !isTrial:
            status = .declined
            message = "nothing was changed: stored values break the schema"
            hint = "correct what 'violations' names, or enforce it all the same with --force"
        case "import" where skipped > 0:
            status = .partly
            message = "\(skipped) \(skipped == 1 ? "record was" : "records were") left out"
            leftOut = errors.map { "line \($0.integer("line") ?? 0): \($0.string("message") ?? "")" }
        case "export" where damaged > 0:
            status = .partly
            message = "attachments of \(damaged) \(damaged == 1 ? "document" : "documents") are damaged or gone"
            hint = "'kura doctor' says what to do"
        case "backup", "bundle":
            let all = (result["leftOut"].flatMap(JSONElements.read) ?? []).compactMap { JSONObject($0) }
            let damaged = all.filter { $0.string("reason") == "damaged" }
            guard !damaged.isEmpty else { return nil }
            status = .partly
            let (secrets, contents) = (
                damaged.filter { $0.string("store") == "secrets" }, damaged.filter { $0.string("store") != "secrets" }
            )
            let count = secrets.reduce(0) { $0 + ($1.integer("count") ?? 0) }
            var parts: [String] = []
            if !contents.isEmpty {
                parts.append(
                    "\(contents.count) \(contents.count == 1 ? "attachment is" : "attachments are") damaged or gone, and not in it"
                )
            }
            if !secrets.isEmpty { parts.append("\(count) \(count == 1 ? "secret is" : "secrets are") damaged") }
            message = parts.joined(separator: "; ")
            hint = secrets.isEmpty ? "'kura doctor' says what to do" : "'kura secrets verify' says which secrets"
        case "clear" where left > 0:
            status = .partly
            message = "\(left) are still there"
            hint = "the same again takes the next"
        case "verify-signature", "verify-hmac":
            guard result.boolean("valid") == false else { return nil }
            status = .negative
            message = "it is not valid"
        case "can" where result.boolean("allowed") == false:
            status = .negative
            message = "it is not allowed: \(result.string("reason") ?? "")"
            hint = result.string("hint")
        case "audit-verify" where result.boolean("valid") == false:
            status = .negative
            message =
                "record \(result.integer("firstBroken") ?? 0) is not as it was written"
                + (result.string("reason").map { ": \($0)" } ?? "")
        case "compare":
            let count = Self.differences(result)
            guard count > 0 else { return nil }
            status = .negative
            message = "\(count) \(count == 1 ? "item is" : "items are") not as in the backup"
        case "check", "verify":
            let count = result.integer("problemCount") ?? result.integer("damagedCount") ?? 0
            let others = result.integer("otherHostKey") ?? 0
            guard count + others > 0 else { return nil }
            status = .negative
            if count > 0 {
                message = "\(count) \(count == 1 ? "thing is" : "things are") not as they were written"
            } else {
                message = Self.otherHostKey(others)
                hint = "nothing is damaged: put the old keys/host.key back, and start kurad again"
            }
        case "repair":
            let others = result.integer("otherHostKey") ?? 0
            guard others > 0 else { return nil }
            status = .partly
            message = Self.otherHostKey(others) + ", and left as they are"
            hint = "put the old keys/host.key back and start kurad again; --other-host-key destroys them"
        default: return nil
        }
    }

    private static func otherHostKey(_ count: Int64) -> String {
        "\(count) \(count == 1 ? "value is" : "values are") sealed with another keys/host.key"
    }

    /// What a restore of a backup would change, as `backups.compare` counts it.
    static func differences(_ result: JSONObject) -> Int64 {
        ["added", "changed", "removed"].reduce(0) { $0 + (result.integer($1) ?? 0) }
    }

    /// Why a cache has declined.
    private static func words(_ reason: String) -> String {
        switch reason {
        case "present", "exists": "one is there already"
        case "overBudget": "it is larger than the cache may be"
        case "quotaExceeded": "the writer may have no more"
        case "lowStorage": "the disk is nearly full"
        case "busy": "too much waits to be written"
        case "late": "the time of its token is over"
        case "parentMissing": "what it is a variant of is not there"
        case "parentChanged": "what it is a variant of is another one by now"
        default: reason
        }
    }

    private static func hint(_ reason: String, _ method: Method) -> String? {
        switch reason {
        case "overBudget":
            "'kura \(method.noun) describe NAMESPACE' tells how much that is, 'kura \(method.noun) configure NAMESPACE --max-bytes N' changes it"
        case "lowStorage": "make room; 'kura doctor' tells how much is left, and below what caches store nothing"
        case "busy": "try again in a moment"
        default: nil
        }
    }
}

extension Console {
    private static var shownReasons: Int { 20 }

    /// On standard error; nothing with `-q`.
    func tell(_ shortfall: Shortfall) {
        guard !isQuiet else { return }
        for reason in shortfall.leftOut.prefix(Self.shownReasons) { remark("left out: \(reason)") }
        if shortfall.leftOut.count > Self.shownReasons {
            remark("left out: \(shortfall.leftOut.count - Self.shownReasons) more, which --json names")
        }
        fail(Failure(status: shortfall.status, message: shortfall.message, hint: shortfall.hint), isJSON: false)
    }
}
