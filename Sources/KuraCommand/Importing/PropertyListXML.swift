import KuraBytes

/// Reads a property list in XML: the few elements of its DTD, in UTF-8, without entities of its own.
///
/// Source: https://www.apple.com/DTDs/PropertyList-1.0.dtd
struct PropertyListXML {
    private let bytes: [UInt8]
    private var position = 0
    private var count = 0

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { position = 3 }
    }

    mutating func read() throws(Failure) -> PropertyList {
        var tag = try open()
        if tag.name == "plist" {
            guard !tag.isEmpty else { throw fault("the list is empty") }
            tag = try open()
            let value = try value(tag, depth: 0)
            try close("plist")
            try skip()
            guard position == bytes.count else { throw fault("something stands behind the list") }
            return value
        }
        throw fault("<plist> is expected, not <\(tag.name)>")
    }

    private func fault(_ message: String) -> Failure {
        let line = bytes.prefix(position).count { $0 == 0x0A } + 1
        return .usage("the property list is broken in line \(line): \(message)")
    }

    // MARK: Values

    private mutating func value(_ tag: Tag, depth: Int) throws(Failure) -> PropertyList {
        count += 1
        guard depth < PropertyList.maximumDepth else { throw fault("it is nested too deep") }
        guard count <= PropertyList.maximumValues else { throw fault("it has too many values") }
        switch tag.name {
        case "true", "false":
            if !tag.isEmpty { try close(tag.name) }
            return .boolean(tag.name == "true")
        case "dict": return try dictionary(tag, depth: depth)
        case "array":
            var items: [PropertyList] = []
            guard !tag.isEmpty else { return .array([]) }
            while let inner = try next(within: "array") { items.append(try value(inner, depth: depth + 1)) }
            return .array(items)
        case "string": return .string(try text(tag))
        case "integer": return try integer(tag)
        case "real": return try real(tag)
        case "date":
            let text = try text(tag)
            let form = Array("0000-00-00T00:00:00Z".utf8)
            let digits = Array(text.utf8)
            let fits =
                digits.count == form.count
                && zip(digits, form).allSatisfy { $1 == 0x30 ? (0x30...0x39).contains($0) : $0 == $1 }
            guard fits else { throw fault("'\(text)' is no date") }
            return .date(text)
        case "data":
            let text = try text(tag).utf8.filter { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }
            var output = ByteBuffer()
            guard text.withBytes({ Base64.decode($0, into: &output) }) else { throw fault("<data> is no base64") }
            return .data(Array(output.bytes))
        default: throw fault("<\(tag.name)> is no value of a property list")
        }
    }

    private mutating func dictionary(_ tag: Tag, depth: Int) throws(Failure) -> PropertyList {
        guard !tag.isEmpty else { return .dictionary([]) }
        var entries: [PropertyList.Entry] = []
        var places: [String: Int] = [:]
        while let inner = try next(within: "dict") {
            guard inner.name == "key" else { throw fault("<key> is expected, not <\(inner.name)>") }
            let key = try text(inner)
            guard let tag = try next(within: "dict") else { throw fault("'\(key)' has no value") }
            let value = try value(tag, depth: depth + 1)
            // The last one counts, as everywhere that reads them.
            if let place = places[key] {
                entries[place].value = value
            } else {
                places[key] = entries.count
                entries.append(PropertyList.Entry(key: key, value: value))
            }
        }
        return .dictionary(entries)
    }

    private mutating func integer(_ tag: Tag) throws(Failure) -> PropertyList {
        let given = Self.trimmed(try text(tag))
        let isNegative = given.hasPrefix("-")
        let digits = given.hasPrefix("-") || given.hasPrefix("+") ? given.dropFirst() : given[...]
        let isHexadecimal = digits.hasPrefix("0x") || digits.hasPrefix("0X")
        guard let value = UInt64(isHexadecimal ? digits.dropFirst(2) : digits, radix: isHexadecimal ? 16 : 10),
            !isNegative || value <= UInt64(Int64.max) + 1
        else { throw fault("'\(given)' is no integer") }
        return .number((isNegative && value > 0 ? "-" : "") + String(value))
    }

    private mutating func real(_ tag: Tag) throws(Failure) -> PropertyList {
        let given = Self.trimmed(try text(tag))
        guard let value = Double(given) else { throw fault("'\(given)' is no number") }
        return value.isFinite ? .number("\(value)") : .notFinite(given)
    }

    private static func trimmed(_ text: String) -> String {
        var text = text[...]
        while text.first?.isWhitespace == true { text.removeFirst() }
        while text.last?.isWhitespace == true { text.removeLast() }
        return String(text)
    }

    // MARK: Tags

    private struct Tag {
        let name: String
        /// `<true/>`
        let isEmpty: Bool
    }

    /// White space, comments, the declaration, the document type.
    private mutating func skip() throws(Failure) {
        while position < bytes.count {
            if [0x20, 0x09, 0x0A, 0x0D].contains(bytes[position]) {
                position += 1
            } else if starts("<!--") {
                try pass("-->")
            } else if starts("<?") {
                let start = position
                try pass("?>")
                let declaration = String(decoding: bytes[start..<position], as: UTF8.self).lowercased()
                guard !declaration.contains("encoding") || declaration.contains("utf-8") else {
                    position = start
                    throw fault("only UTF-8 is read")
                }
            } else if starts("<!DOCTYPE") {
                let start = position
                try pass(">")
                guard !bytes[start..<position].contains(UInt8(ascii: "[")) else {
                    position = start
                    throw fault("it declares entities of its own, which are not read")
                }
            } else {
                return
            }
        }
    }

    private func starts(_ text: String) -> Bool { bytes[position...].starts(with: text.utf8) }

    private mutating func pass(_ end: String) throws(Failure) {
        let start = position
        while position < bytes.count {
            if starts(end) {
                position += end.utf8.count
                return
            }
            position += 1
        }
        position = start
        throw fault("'\(end)' is missing")
    }

    private mutating func open() throws(Failure) -> Tag {
        try skip()
        guard position < bytes.count else { throw fault("it ends too early") }
        guard bytes[position] == UInt8(ascii: "<") else { throw fault("a tag is expected") }
        let start = position
        let end = try tagEnd()
        position = start + 1
        let inside = bytes[(start + 1)..<end]
        let isEmpty = inside.last == UInt8(ascii: "/")
        // Attributes say nothing that matters here.
        let name = inside.prefix { ![0x20, 0x09, 0x0A, 0x0D, UInt8(ascii: "/")].contains($0) || $0 == inside.first }
        position = end + 1
        return Tag(name: String(decoding: name, as: UTF8.self), isEmpty: isEmpty)
    }

    private func tagEnd() throws(Failure) -> Int {
        guard let end = bytes[position...].firstIndex(of: UInt8(ascii: ">")) else { throw fault("'>' is missing") }
        return end
    }

    private mutating func close(_ name: String) throws(Failure) {
        let tag = try open()
        guard tag.name == "/" + name else { throw fault("</\(name)> is expected, not <\(tag.name)>") }
    }

    /// nil when the element ends here.
    private mutating func next(within name: String) throws(Failure) -> Tag? {
        let tag = try open()
        guard tag.name.hasPrefix("/") else { return tag }
        guard tag.name == "/" + name else { throw fault("</\(name)> is expected, not <\(tag.name)>") }
        return nil
    }

    // MARK: Text

    /// What stands up to the end of the element.
    private mutating func text(_ tag: Tag) throws(Failure) -> String {
        guard !tag.isEmpty else { return "" }
        var output: [UInt8] = []
        while position < bytes.count {
            let byte = bytes[position]
            if byte != UInt8(ascii: "<"), byte != UInt8(ascii: "&") {
                output.append(byte)
                position += 1
            } else if starts("<![CDATA[") {
                let start = position + 9
                try pass("]]>")
                output += bytes[start..<(position - 3)]
            } else if starts("<!--") {
                try pass("-->")
            } else if byte == UInt8(ascii: "<") {
                try close(tag.name)
                guard let text = String(validating: output, as: UTF8.self) else {
                    throw fault("text that is not UTF-8")
                }
                return text
            } else {
                output += try entity()
            }
        }
        throw fault("</\(tag.name)> is missing")
    }

    private mutating func entity() throws(Failure) -> [UInt8] {
        guard let end = bytes[position...].prefix(16).firstIndex(of: UInt8(ascii: ";")) else {
            throw fault("'&' begins no entity")
        }
        let name = String(decoding: bytes[(position + 1)..<end], as: UTF8.self)
        defer { position = end + 1 }
        switch name {
        case "lt": return Array("<".utf8)
        case "gt": return Array(">".utf8)
        case "amp": return Array("&".utf8)
        case "quot": return Array("\"".utf8)
        case "apos": return Array("'".utf8)
        default:
            let digits = name.hasPrefix("#x") ? name.dropFirst(2) : name.dropFirst()
            guard name.hasPrefix("#"), let value = UInt32(digits, radix: name.hasPrefix("#x") ? 16 : 10), value > 0,
                let scalar = Unicode.Scalar(value)
            else { throw fault("&\(name); is unknown") }
            return Array(String(Character(scalar)).utf8)
        }
    }
}
