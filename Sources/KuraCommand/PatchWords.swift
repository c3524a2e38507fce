import KuraClient

/// Members of a document as a command line has them, made into a merge patch: `capital.name=Bern area=41285 draft=null`.
///
/// A name with dots leads into an object, as in conditions; `\\.` is a dot of the name. Null takes a member away.
struct PatchWords {
    private enum Member {
        case value([UInt8])
        case members(PatchWords)
    }
    private var members: [(name: String, member: Member)] = []

    /// - Parameters:
    ///   - words: members.
    ///   - value: makes JSON of what stands behind the sign.
    /// - Returns: the patch's JSON text.
    /// - Throws: a usage failure for a word that is no member, and for one that is given twice.
    static func patch(_ words: [String], value: (String) throws(Failure) -> [UInt8]) throws(Failure) -> [UInt8] {
        var patch = PatchWords()
        for word in words {
            guard let sign = word.firstIndex(of: "="), sign != word.startIndex,
                !SelectorWords.signs.contains(where: {
                    $0.sign != "=" && word[..<word.index(after: sign)].hasSuffix($0.sign)
                })
            else {
                throw .usage(
                    "'\(word)' is no member of a document",
                    hint:
                        "write NAME=VALUE, '{\"NAME\":VALUE}', or a JSON Patch; 'kura docs put' replaces a whole document"
                )
            }
            let path = names(in: word[..<sign])
            guard patch.add(path[...], try value(String(word[word.index(after: sign)...]))) else {
                throw .usage("'\(word[..<sign])' is given twice")
            }
        }
        return patch.text
    }

    private static func names(in path: Substring) -> [String] {
        var names = [""]
        var isEscaped = false
        for character in path {
            if isEscaped || (character != "." && character != "\\") {
                names[names.count - 1].append(character)
                isEscaped = false
            } else if character == "." {
                names.append("")
            } else {
                isEscaped = true
            }
        }
        return names
    }

    /// - Returns: false when something is there already.
    private mutating func add(_ path: ArraySlice<String>, _ value: [UInt8]) -> Bool {
        guard let name = path.first else { return false }
        let index = members.firstIndex { $0.name == name }
        if path.count == 1 {
            guard index == nil else { return false }
            members.append((name, .value(value)))
            return true
        }
        var inner = PatchWords()
        if let index {
            guard case .members(let there) = members[index].member else { return false }
            inner = there
        }
        guard inner.add(path.dropFirst(), value) else { return false }
        if let index { members[index].member = .members(inner) } else { members.append((name, .members(inner))) }
        return true
    }

    private var text: [UInt8] {
        JSONParts.object(
            members.map { name, member in
                switch member {
                case .value(let value): (name: name, value: value)
                case .members(let inner): (name: name, value: inner.text)
                }
            })
    }
}
