public import KuraBytes

/// JSON Patch: a list of operations, all or none of which change a document. What they do not touch stays byte for byte.
///
/// Bounded: in the size and depth of what comes of it and of every step on the way, in the number of operations, and in the
/// bytes that are looked at and moved in all. One instance serves one thread; its memory is used again.
///
/// Source: RFC 6902, RFC 6901. A document cannot be removed or moved as a whole: then it would be none.
public struct JSONPatch: ~Copyable {
    private var editor = DocumentEditor()
    private var path = PathNames()
    private var from = PathNames()
    /// What is moved or copied: it stands in the text that changes.
    private var carried = ByteBuffer()

    public init() {}

    /// Appends what the operations make of `document`.
    /// `operations`: the patch, JSON that has been checked.
    public mutating func apply(
        _ operations: StoredValue, to document: StoredValue, into output: inout ByteBuffer, _ limits: PatchLimits
    ) throws(PatchFault) {
        guard operations.kind == .array else { throw PatchFault(.noArray) }
        editor.begin(document.text)
        defer { editor.end() }
        var index = 0
        for element in operations.elements {
            guard index < limits.operations else { throw PatchFault(.tooManyOperations, operation: index) }
            do throws(PatchFault) {
                try perform(try Operation(element), limits)
            } catch {
                var fault = error
                fault.operation = index
                throw fault
            }
            index += 1
        }
        output.append(editor.text)
    }

    private struct Operation {
        enum Kind { case add, remove, replace, move, copy, test }
        var kind: Kind
        /// Insides of strings.
        var path: Bytes
        var from: Bytes?
        var value: StoredValue?

        init(_ object: StoredValue) throws(PatchFault) {
            guard object.kind == .object else { throw PatchFault(.noOperation) }
            var kind: Kind?
            var path: Bytes?
            var from: StoredValue?
            for member in object.members {
                if ResolvedText.equals(member.name, Bytes("op")) {
                    kind = Self.kind(member.value)
                    guard kind != nil else { throw PatchFault(.unknownOperation) }
                } else if ResolvedText.equals(member.name, Bytes("path")) {
                    guard member.value.kind == .string else { throw PatchFault(.missingPath) }
                    path = member.value.quoted
                } else if ResolvedText.equals(member.name, Bytes("from")) {
                    from = member.value
                } else if ResolvedText.equals(member.name, Bytes("value")) {
                    value = member.value
                }
            }
            guard let kind else { throw PatchFault(.noOperation) }
            guard let path else { throw PatchFault(.missingPath) }
            self.kind = kind
            self.path = path
            switch kind {
            case .add, .replace, .test: if value == nil { throw PatchFault(.missingValue) }
            case .move, .copy:
                // Of the others it is no part, whatever it is.
                guard let from, from.kind == .string else { throw PatchFault(.missingFrom) }
                self.from = from.quoted
            case .remove: break
            }
        }

        private static func kind(_ value: StoredValue) -> Kind? {
            guard value.kind == .string else { return nil }
            let words: [(StaticString, Kind)] = [
                ("add", .add), ("remove", .remove), ("replace", .replace), ("move", .move), ("copy", .copy),
                ("test", .test),
            ]
            return words.first { ResolvedText.equals(value.quoted, Bytes($0.0)) }?.1
        }
    }

    private mutating func perform(_ operation: Operation, _ limits: PatchLimits) throws(PatchFault) {
        guard path.read(pointer: operation.path) else { throw PatchFault(.badPointer) }
        if let quoted = operation.from, !from.read(pointer: quoted) { throw PatchFault(.badFrom) }
        switch operation.kind {
        case .add:
            try add(operation.value!.text, limits)
        case .remove:
            let (_, member) = try find(.path)
            guard path.count > 0 else { throw PatchFault(.wholeDocument, pointer: []) }
            editor.remove(member)
        case .replace:
            let (value, _) = try find(.path)
            try admit(operation.value!.text, replacing: value.count, limits)
            editor.replace(value) { $0.append(operation.value!.text) }
        case .move:
            let (value, member) = try find(.from)
            guard from.count > 0 else { throw PatchFault(.wholeDocument, pointer: []) }
            if from.isPrefix(of: path) {
                // To where it is already: nothing is to be done.
                guard from.count < path.count else { return }
                throw PatchFault(.intoItself, pointer: path.pointer())
            }
            carry(value)
            editor.remove(member)
            try add(carried.bytes, limits)
        case .copy:
            let (value, _) = try find(.from)
            // Before it is carried: what would be refused is not copied.
            try admit(editor.text.extracting(value), replacing: 0, limits)
            carry(value)
            try add(carried.bytes, limits)
        case .test:
            let (value, _) = try find(.path)
            // A comparison passes over each part once for each level that it lies in.
            editor.work += value.count * (1 + operation.value!.depth(atMost: limits.depth))
            guard editor.work <= limits.work else { throw PatchFault(.tooMuchWork, pointer: path.pointer()) }
            guard Collation.areEqual(StoredValue(editor.text.extracting(value)), operation.value!) else {
                throw PatchFault(.testFailed, pointer: path.pointer())
            }
        }
        guard editor.work <= limits.work else { throw PatchFault(.tooMuchWork, pointer: path.pointer()) }
    }

    private mutating func carry(_ value: Range<Int>) {
        carried.removeAll()
        carried.append(editor.text.extracting(value))
    }

    private enum Which {
        case path, from
    }

    private mutating func find(_ which: Which) throws(PatchFault) -> (value: Range<Int>, member: Range<Int>) {
        switch which == .path ? editor.locate(path) : editor.locate(from) {
        case .value(let value, let member): return (value, member)
        case .end: throw PatchFault(.nothingThere, pointer: pointer(which))
        case .nothing(let depth), .scalar(let depth): throw PatchFault(.nothingThere, pointer: pointer(which, depth))
        case .badPosition(let depth): throw PatchFault(.badPosition, pointer: pointer(which, depth))
        }
    }

    private func pointer(_ which: Which, _ depth: Int? = nil) -> [UInt8] {
        which == .path ? path.pointer(depth) : from.pointer(depth)
    }

    /// A member that is there is replaced, an element is put before the one at its place.
    private mutating func add(_ value: Bytes, _ limits: PatchLimits) throws(PatchFault) {
        switch editor.locate(path) {
        case .value(let place, let member):
            if place == member, path.count > 0 {
                try admit(value, replacing: -1, limits)
                editor.insert(before: place) { $0.append(value) }
            } else {
                try admit(value, replacing: place.count, limits)
                editor.replace(place) { $0.append(value) }
            }
        case .end(let container):
            let name = path.name(path.count - 1)
            // At most six bytes a byte of the name, quotes, colon and comma.
            try admit(value, replacing: -6 * name.count - 4, limits)
            editor.append(to: container, name: name) { $0.append(value) }
        case .nothing(let depth):
            throw PatchFault(
                depth == path.count - 1 ? .badPosition : .nothingThere, pointer: path.pointer(depth))
        case .scalar(let depth): throw PatchFault(.noContainer, pointer: path.pointer(depth))
        case .badPosition(let depth): throw PatchFault(.badPosition, pointer: path.pointer(depth))
        }
    }

    /// Before a value is put where the path leads.
    private mutating func admit(_ value: Bytes, replacing: Int, _ limits: PatchLimits) throws(PatchFault) {
        guard editor.text.count - replacing + value.count <= limits.resultBytes else {
            throw PatchFault(.tooLarge, pointer: path.pointer())
        }
        editor.work += value.count
        guard path.count + StoredValue(value).depth(atMost: limits.depth) <= limits.depth else {
            throw PatchFault(.tooDeep, pointer: path.pointer())
        }
    }
}

extension StoredValue {
    /// Levels of arrays and objects, one for a flat one and none for a scalar. More than `limit` are not counted.
    func depth(atMost limit: Int) -> Int {
        var depth = 0
        var deepest = 0
        var index = 0
        while index < text.count {
            switch text[index] {
            case UInt8(ascii: "\""):
                index = Self.endOfString(text, index)
                continue
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
                deepest = max(deepest, depth)
                if deepest > limit { return deepest }
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                depth -= 1
            default: break
            }
            index += 1
        }
        return deepest
    }
}
