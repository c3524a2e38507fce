import Glibc
import KuraBytes
import KuraJSON
import Testing

/// The cases of Tests/QueryCases, which are facts of CouchDB's own tests in words of ours: documents, selectors, what they find.
/// One object a line; members are kept as text, so that it is sent as it stands.
struct QueryCase {
    let members: [String: String]

    subscript(name: String) -> String? { members[name] }

    /// A member's value, read.
    func value(_ name: String) throws -> JSON? { try members[name].map { try JSON($0) } }

    var name: String { members["name"].flatMap { try? JSON($0).text } ?? "" }
    /// Why Kura differs from it on purpose.
    var deviates: String? { members["deviates"].flatMap { try? JSON($0).text } }

    static func all(_ file: String) throws -> [QueryCase] {
        let path = "\(#filePath)".replacing(
            "KuraServerTests/Queries/QueryCases.swift", with: "QueryCases/" + file)
        let stream = try #require(fopen(path, "r"), "\(path)")
        defer { fclose(stream) }
        var line: UnsafeMutablePointer<CChar>?
        var capacity = 0
        defer { free(line) }
        var cases: [QueryCase] = []
        while true {
            let length = getline(&line, &capacity, stream)
            guard length > 1, let line else { return cases }
            let value = StoredValue(Bytes(start: line, count: length - 1))
            var members: [String: String] = [:]
            for member in value.members { members[String(member.name)] = String(member.value.text) }
            cases.append(QueryCase(members: members))
        }
    }
}
