import KuraBytes
import KuraClient
import KuraProtocol

/// `kura docs diff`: what differs between two versions of a document.
struct DiffCommand {
    static let tool = Tool(
        noun: "documents", word: "diff", arguments: ["COLLECTION", "ID", "[REV]", "[REV]"], options: [],
        summary: "Tell what differs between two versions of a document.",
        explanation: [
            "Both are written as indented JSON, and compared line by line: '-' stands before what was, '+' before what is, three lines around.",
            "Without REV it is what the last change did; with one, what has changed since that revision; with two, from the first to the second. "
                + "'kura docs history' lists revisions. A version that is deleted has no lines.",
        ],
        examples: [
            "kura docs diff notes today", "kura docs diff notes today 417", "kura docs diff notes today 417 420",
        ])

    static func run(
        _ arguments: ToolArguments, _ options: GlobalOptions, _ console: Console, _ catalogue: Catalogue
    ) throws(Failure) -> ExitCode {
        try arguments.check(least: 2, most: 4)
        let revs = try arguments.words.dropFirst(2).map { (word) throws(Failure) in
            guard let rev = Int64(word), rev >= 0 else {
                throw .usage("'\(word)' is no revision", hint: "usage: kura \(tool.usage)")
            }
            return rev
        }
        var reader = VersionReader(
            session: try Session.open(options, console), catalogue: catalogue,
            place: [("collection", arguments.words[0]), ("id", arguments.words[1])])
        let (old, new): (Int64?, Int64?)
        switch revs.count {
        case 0: (old, new) = try reader.lastChange()
        case 1: (old, new) = (revs[0], nil)
        default: (old, new) = (revs[0], revs[1])
        }
        let difference = LineDifference(try reader.lines(at: old ?? 0), try reader.lines(at: new))
        guard !difference.isEmpty else {
            console.remark("nothing differs")
            return .done
        }
        console.print(
            difference.text(
                from: old.map { "at revision \($0)" } ?? "", to: new.map { "at revision \($0)" } ?? "now", console.style
            ))
        return .done
    }
}

/// Reads a document as it was.
private struct VersionReader: ~Copyable {
    var session: Session
    let catalogue: Catalogue
    let place: [(String, String)]

    private mutating func ask(_ method: String, _ more: [(String, [UInt8])]) throws(Failure) -> JSONObject {
        let params = JSONParts.object(place.map { ($0.0, JSONParts.string($0.1)) } + more)
        guard let result = JSONObject(try session.result(try catalogue.method(named: method), params)) else {
            throw Failure(status: .noDaemon, message: "the answer is no object")
        }
        return result
    }

    /// The revisions of the newest version and of the one before it.
    mutating func lastChange() throws(Failure) -> (Int64?, Int64?) {
        let history = try ask("documents.history", [("limit", Array("2".utf8))])
        let versions = (JSONElements.read(history["versions"] ?? []) ?? []).compactMap {
            JSONObject($0)?.integer("rev")
        }
        guard let newest = versions.first else {
            throw Failure(status: .absent, message: "there is no version of it", hint: "'kura docs list' lists ids")
        }
        if versions.count > 1 { return (versions[1], newest) }
        guard history["complete"].map({ $0.elementsEqual("true".utf8) }) == true else {
            throw Failure(
                status: .refused, message: "what it was before revision \(newest) is not kept",
                hint: "'kura docs configure' with --history has a collection keep former versions")
        }
        return (newest - 1, newest)
    }

    /// `rev`: nil for now.
    mutating func lines(at rev: Int64?) throws(Failure) -> [String] {
        let result = try ask("documents.get", rev.map { [("atRev", Array("\($0)".utf8))] } ?? [])
        guard let value = result["value"] else { return [] }
        return String(decoding: JSONDocument.indented(value), as: UTF8.self).split(separator: "\n").map(String.init)
    }
}

/// What differs between two texts, line by line.
struct LineDifference {
    private struct Line {
        var sign: Character
        var text: String
    }
    private var all: [Line] = []

    init(_ old: [String], _ new: [String]) {
        let difference = new.difference(from: old)
        var removed = Set<Int>()
        var inserted = Set<Int>()
        for change in difference {
            switch change {
            case .remove(let offset, _, _): removed.insert(offset)
            case .insert(let offset, _, _): inserted.insert(offset)
            }
        }
        var (left, right) = (0, 0)
        while left < old.count || right < new.count {
            if removed.contains(left) {
                all.append(Line(sign: "-", text: old[left]))
                left += 1
            } else if inserted.contains(right) {
                all.append(Line(sign: "+", text: new[right]))
                right += 1
            } else {
                all.append(Line(sign: " ", text: new[right]))
                (left, right) = (left + 1, right + 1)
            }
        }
    }

    var isEmpty: Bool { !all.contains { $0.sign != " " } }

    /// Lines around a difference.
    private static let context = 3

    func text(from old: String, to new: String, _ style: Style) -> String {
        var text = "--- \(old)\n+++ \(new)\n"
        var isShown = [Bool](repeating: false, count: all.count)
        for position in all.indices where all[position].sign != " " {
            for near in max(0, position - Self.context)...min(all.count - 1, position + Self.context) {
                isShown[near] = true
            }
        }
        var shown = -1
        for position in all.indices where isShown[position] {
            if shown >= 0, position > shown + 1 { text += "...\n" }
            let line = "\(all[position].sign) \(all[position].text)"
            text +=
                (all[position].sign == "-" ? style.red(line) : all[position].sign == "+" ? style.green(line) : line)
                + "\n"
            shown = position
        }
        return text
    }
}
