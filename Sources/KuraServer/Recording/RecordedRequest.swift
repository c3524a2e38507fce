import KuraBytes
import KuraProtocol
import Sodium

/// Writes a request's line down as a recording has it: as it came, with what must not be in a file replaced.
///
/// It reads by the method table and binds nothing, so that a request which is refused is written down as well. What it cannot tell apart it
/// replaces as a whole: parameters of a method that there is not, and a line that is no JSON.
struct RecordedRequest {
    /// A request of the line.
    struct Call {
        /// As the reply has it; nil: there is none.
        var id: [UInt8]?
        /// Position of its method in the table; nil where there is none of its name.
        var method: Int?
        /// Nothing of it is in the recording but its length: what is sent for it has no id.
        var isHidden = false
    }

    let table: MethodTable
    private let disguise: Disguise
    private let names = NameStack()
    private let reader: RequestReader
    private let batchLimit: Int
    /// By request of the line, positions of their methods.
    private var methods: [Int?] = []
    /// The requests of the line that was written last.
    private(set) var calls: [Call] = []

    /// - Parameters:
    ///   - table: the methods.
    ///   - batchLimit: members that a batch may have.
    /// - Throws: that there is no key to replace secrets with.
    init(_ table: MethodTable, batchLimit: Int) throws(SodiumError) {
        self.table = table
        self.batchLimit = batchLimit
        reader = RequestReader(table: table)
        disguise = try Disguise()
    }

    /// Appends a JSON value that stands for the line: itself, or a string of as many bytes when it is no JSON.
    mutating func append(_ line: Bytes, to out: inout ByteBuffer) {
        methods.removeAll(keepingCapacity: true)
        let isHidden = !isJSON(line)
        defer {
            let ids = reader.replyIDs(of: line, batchLimit: batchLimit)
            // A line that is refused as a whole is of no method.
            calls = ids.enumerated().map { position, id in
                Call(id: id, method: ids.count == methods.count ? methods[position] : nil, isHidden: isHidden)
            }
        }
        guard !isHidden else {
            out.append(UInt8(ascii: "\""))
            for _ in 0..<line.count { out.append(UInt8(ascii: "x")) }
            out.append(UInt8(ascii: "\""))
            return
        }
        switch line.first {
        case UInt8(ascii: "{"): append(request: line, to: &out)
        case UInt8(ascii: "["):
            var walk = JSONWalk(line, storage: WalkStorage())
            out.append(UInt8(ascii: "["))
            while let element = walk.nextElement() {
                out.beginElement()
                append(request: element, to: &out)
            }
            out.append(UInt8(ascii: "]"))
        // As a text it would be a line that is no JSON.
        case UInt8(ascii: "\""): out.append("true")
        default: append(request: line, to: &out)
        }
    }

    /// The same replacement that requests get, for a value of a result.
    func replace(_ value: Bytes, to out: inout ByteBuffer) { disguise.append(value, to: &out) }

    private func isJSON(_ line: Bytes) -> Bool {
        var reader = JSONReader(line, grammar: .rfc8259, names: names)
        do throws(JSONFault) {
            _ = try reader.value()
            try reader.expectEnd()
            return true
        } catch { return false }
    }

    // MARK: Calls

    private mutating func append(request: Bytes, to out: inout ByteBuffer) {
        guard request.first == UInt8(ascii: "{") else {
            methods.append(nil)
            return disguise.append(request, to: &out)
        }
        let method = method(of: request)
        methods.append(method)
        let storage = WalkStorage()
        defer { storage.wipe() }
        var walk = JSONWalk(request, storage: storage)
        out.append(UInt8(ascii: "{"))
        while let (name, value) = walk.nextMember() {
            out.append(key: name)
            if name.equals("params") {
                append(parameters: value, of: method, to: &out)
            } else if name.equals("jsonrpc") || name.equals("id") || name.equals("method") && method != nil {
                out.append(value)
            } else {
                disguise.append(value, to: &out)
            }
        }
        out.append(UInt8(ascii: "}"))
    }

    private mutating func append(parameters: Bytes, of method: Int?, to out: inout ByteBuffer) {
        guard let method = method.map({ table.methods[$0] }) else { return disguise.append(parameters, to: &out) }
        let fields = method.parameters
        let isAll = Self.namesSealedStore(parameters, fields)
        // Where no stores are named those that are sealed are meant as well.
        let isAny = !isAll && Self.meansAllStores(parameters, fields)
        func isReplaced(_ field: Field) -> Bool {
            isAll || method.isReplaced(field) || isAny && field.type.isText && field.name != "scope"
        }
        switch parameters.first {
        case UInt8(ascii: "{"): append(members: parameters, fields, isReplaced, to: &out)
        case UInt8(ascii: "["):
            var walk = JSONWalk(parameters, storage: WalkStorage())
            var position = 0
            out.append(UInt8(ascii: "["))
            while let element = walk.nextElement() {
                out.beginElement()
                // Which method's a call's parameters are is not looked for here.
                if position < fields.count, !(fields.areCalls && fields[position].name == "params") {
                    append(element, fields[position], isReplaced: isReplaced(fields[position]), to: &out)
                } else {
                    disguise.append(element, to: &out)
                }
                position += 1
            }
            out.append(UInt8(ascii: "]"))
        default: disguise.append(parameters, to: &out)
        }
    }

    /// A list of stores has one in it that is sealed: what stands beside it may be a name of that store's.
    private static func namesSealedStore(_ parameters: Bytes, _ fields: [Field]) -> Bool {
        guard fields.contains(where: \.type.mayNameSealedStore) else { return false }
        return Method.Store.all(.sealed).contains { String(parameters).contains("\"\($0.rawValue)\"") }
    }

    private static func meansAllStores(_ parameters: Bytes, _ fields: [Field]) -> Bool {
        guard let position = fields.firstIndex(where: \.type.mayNameSealedStore) else { return false }
        var walk = JSONWalk(parameters, storage: WalkStorage())
        if parameters.first == UInt8(ascii: "[") {
            for _ in 0...position { if walk.nextElement() == nil { return true } }
            return false
        }
        while let (name, _) = walk.nextMember() {
            if field(name, fields)?.name == fields[position].name { return false }
        }
        return true
    }

    // MARK: Values

    private mutating func append(
        members object: Bytes, _ fields: [Field], _ isReplaced: (Field) -> Bool, to out: inout ByteBuffer
    ) {
        let storage = WalkStorage()
        defer { storage.wipe() }
        var walk = JSONWalk(object, storage: storage)
        out.append(UInt8(ascii: "{"))
        while let (name, value) = walk.nextMember() {
            out.append(key: name)
            if fields.areCalls, name.equals("params") {
                append(parameters: value, of: method(of: object), to: &out)
            } else if let field = Self.field(name, fields) {
                append(value, field, isReplaced: isReplaced(field), to: &out)
            } else {
                disguise.append(value, to: &out)
            }
        }
        out.append(UInt8(ascii: "}"))
    }

    private static func field(_ name: Bytes, _ fields: [Field]) -> Field? {
        fields.first { field in field.name.withBytes { $0.equals(name) } }
    }

    private mutating func append(_ value: Bytes, _ field: Field, isReplaced: Bool, to out: inout ByteBuffer) {
        // What is in it does not matter.
        if field.isSecret { return disguise.append(value, to: &out) }
        append(value, field.type, isReplaced: isReplaced, to: &out)
    }

    private mutating func append(_ value: Bytes, _ type: ValueType, isReplaced: Bool, to out: inout ByteBuffer) {
        switch (type, value.first) {
        case (.object(let fields), UInt8(ascii: "{")):
            append(members: value, fields, { _ in isReplaced }, to: &out)
        case (.list(let element, _), UInt8(ascii: "[")):
            var walk = JSONWalk(value, storage: WalkStorage())
            out.append(UInt8(ascii: "["))
            while let inner = walk.nextElement() {
                out.beginElement()
                append(inner, element, isReplaced: isReplaced, to: &out)
            }
            out.append(UInt8(ascii: "]"))
        case (.word(let words), UInt8(ascii: "\""))
        where words.contains { word in value.elementsEqual("\"\(word)\"".utf8) }:
            out.append(value)
        case (.integer, _), (.boolean, _):
            if Self.isPlain(value) { out.append(value) } else { disguise.append(value, to: &out) }
        case (.text, UInt8(ascii: "\"")) where Timestamp.milliseconds(value.extracting(1..<value.count - 1)) != nil:
            out.append(value)
        case (.text, UInt8(ascii: "\"")), (.name, UInt8(ascii: "\"")):
            if isReplaced { disguise.append(value, to: &out) } else { append(text: value, to: &out) }
        case (.json, _), (.map, UInt8(ascii: "{")):
            if isReplaced { disguise.append(value, to: &out) } else { out.append(value) }
        // What is no value of its type may be anything.
        default: if Self.isWord(value) { out.append(value) } else { disguise.append(value, to: &out) }
        }
    }

    /// A text that is kept, but for what stands behind a sealed store's name: `secrets/mail` is a scope.
    private func append(text value: Bytes, to out: inout ByteBuffer) {
        let sealed = Method.Store.all(.sealed).first { value.starts(with: Array("\"\($0.rawValue)/".utf8)) }
        guard let sealed, value.count > sealed.rawValue.utf8.count + 3 else { return out.append(value) }
        let end = sealed.rawValue.utf8.count + 2
        out.append(value.extracting(0..<end))
        disguise.append(letters: value.extracting(end..<value.count - 1), to: &out)
        out.append(UInt8(ascii: "\""))
    }

    private static func isWord(_ value: Bytes) -> Bool {
        value.equals("null") || value.equals("true") || value.equals("false")
    }

    /// A number or a word.
    private static func isPlain(_ value: Bytes) -> Bool {
        value.first != UInt8(ascii: "\"") && value.first != UInt8(ascii: "{") && value.first != UInt8(ascii: "[")
    }

    // MARK: Envelopes

    /// Position of the method that a call names once; nil when it names none, or several.
    private func method(of call: Bytes) -> Int? {
        var found: Int?
        var count = 0
        let storage = WalkStorage()
        var walk = JSONWalk(call, storage: storage)
        while let (name, value) = walk.nextMember() {
            guard name.equals("method") else { continue }
            count += 1
            found = JSONWalk.string(value, storage: storage).flatMap { table.index(of: $0) }
        }
        return count == 1 ? found : nil
    }
}
