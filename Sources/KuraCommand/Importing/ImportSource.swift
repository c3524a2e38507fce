import Glibc
import KuraBytes
import KuraClient

// Safety: Swift lends paths as C strings for the call; `read` gets a buffer with its length; the kernel fills one `stat`, which is
// ours.

/// A file that is imported, and what it is.
struct ImportSource {
    let path: String
    let kind: ImportCommand.Kind
    /// Standard input, which is read once.
    private let given: [UInt8]?
    private let head: [UInt8]

    private static let headBytes = 65_536
    /// Of what is read whole: settings, secrets, and documents that are only looked at. Others are the daemon's to read, piece by piece.
    private static let mostBytes = 256 << 20

    /// - Throws: a usage failure when it cannot be read, or nobody can tell what it is.
    init(_ path: String, _ kind: String?, _ console: Console) throws(Failure) {
        self.path = path
        let named = try kind.map(Self.kind)
        if path == "-" {
            let bytes = try console.input()
            given = bytes
            head = Array(bytes.prefix(Self.headBytes))
        } else {
            given = nil
            var information = stat()
            guard unsafe stat(path, &information) == 0 else { throw .file("cannot open \(path)") }
            if information.st_mode & S_IFMT == S_IFDIR {
                guard named == nil || named == .folder else { throw .usage("\(path) is a folder") }
                self.kind = .folder
                head = []
                return
            }
            guard information.st_mode & S_IFMT == S_IFREG else {
                throw .usage("\(path) is neither a file nor a folder", hint: "'-' is standard input")
            }
            head = try Self.head(path)
        }
        guard let found = named ?? Self.kind(of: head, path) else {
            throw .usage("nobody can tell what \(path) is", hint: "say it: --from \(ImportCommand.Kind.words)")
        }
        guard found != .folder else { throw .usage("\(path) is no folder") }
        guard found != .sqlite || given == nil else { throw .usage("a SQLite database is read from a file") }
        self.kind = found
    }

    private static func kind(_ word: String) throws(Failure) -> ImportCommand.Kind {
        guard let kind = ImportCommand.Kind(rawValue: word) else {
            throw .usage(
                "--from is one of \(ImportCommand.Kind.words), not '\(word)'",
                hint: Suggestion.hint(for: word, among: ImportCommand.Kind.allCases.map(\.rawValue)))
        }
        return kind
    }

    /// By what is in it, and by its name where that says nothing.
    private static func kind(of head: [UInt8], _ path: String) -> ImportCommand.Kind? {
        if head.starts(with: Array("SQLite format 3\0".utf8)) { return .sqlite }
        if PropertyList.matches(head) { return .plist }
        let name = path.split(separator: "/").last.map(String.init) ?? path
        if name.hasSuffix(".env") || name.hasPrefix(".env") { return .env }
        let suffix = name.contains(".") ? String(name[name.index(after: name.lastIndex(of: ".")!)...]).lowercased() : ""
        switch suffix {
        case "ndjson", "jsonl": return .ndjson
        case "plist": return .plist
        default: break
        }
        switch head.first(where: { !blank.contains($0) }) {
        case UInt8(ascii: "["): return .json
        case UInt8(ascii: "{"):
            // Lines are whole by themselves; an object that is laid out for reading is not.
            let line = head.drop { blank.contains($0) }.prefix { $0 != 0x0A }
            return JSONObject(line) != nil && line.endIndex < head.endIndex && suffix != "json"
                ? .ndjson : .json
        default: return nil
        }
    }

    private static let blank: [UInt8] = [0x20, 0x09, 0x0A, 0x0D]

    var beginsWithObject: Bool { head.first { !Self.blank.contains($0) } == UInt8(ascii: "{") }

    /// The first line has a member `id` that is not taken: it is none of an export's lines.
    var firstRecordHasUnusedID: Bool {
        let line = head.drop { Self.blank.contains($0) }.prefix { $0 != 0x0A }
        guard let names = JSONObject(Array(line))?.names, names.contains("id") else { return false }
        return Set(names) != ["id", "value"]
    }

    /// The name without folders and the last suffix; nil for standard input.
    var stem: String? {
        guard path != "-", let name = path.split(separator: "/").last, name != ".", name != ".." else { return nil }
        guard kind != .folder, let dot = name.lastIndex(of: "."), dot != name.startIndex else { return String(name) }
        return String(name[..<dot])
    }

    func bytes() throws(Failure) -> [UInt8] {
        if let given { return given }
        do throws(ParameterList.Fault) { return try Input.read(path, atMost: Self.mostBytes) } catch {
            throw .usage(error.description)
        }
    }

    private static func head(_ path: String) throws(Failure) -> [UInt8] {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .file("cannot open \(path)") }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: headBytes)
        let count = unsafe read(descriptor, &bytes, bytes.count)
        guard count >= 0 else { throw .file("cannot read \(path)") }
        return Array(bytes[..<count])
    }
}
