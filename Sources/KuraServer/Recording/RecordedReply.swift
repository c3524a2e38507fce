import KuraBytes
import KuraProtocol

/// Writes down of a reply what a replay needs: which request it answers, whether it is an error and of which kind, the values that the daemon
/// has made up and that clients hand back, and how much was found (`Method.outline`).
///
/// What was made up stands where the result has them: a copy of the result in which all else is left out.
enum RecordedReply {
    /// Appends the members of a recorded reply behind those that say when and where it was.
    /// - Parameters:
    ///   - reply: a reply of the daemon's own making.
    ///   - method: whose it is; nil: nobody knows.
    ///   - request: replaces what is a secret.
    ///   - out: an object that is open.
    static func append(
        _ reply: Bytes, of method: Method?, _ request: RecordedRequest, to out: inout ByteBuffer
    ) {
        var walk = JSONWalk(reply, storage: WalkStorage())
        while let (name, value) = walk.nextMember() {
            if name.equals("error") {
                append(error: value, to: &out)
            } else if name.equals("result"), let method, value.first == UInt8(ascii: "{") {
                if method.result.contains(where: \.hasMinted) {
                    out.append(name: ObjectMember.minted)
                    append(value, method.result, isReplaced: method.store.isSealed, request, to: &out)
                }
                guard method.hasOutline else { continue }
                out.openObject(.outline)
                for (name, text) in method.outline(of: value) {
                    out.append(key: name)
                    text.withBytes { out.append($0) }
                }
                out.closeObject()
            }
        }
    }

    private static func append(error: Bytes, to out: inout ByteBuffer) {
        var walk = JSONWalk(error, storage: WalkStorage())
        while let (name, value) = walk.nextMember() {
            guard name.equals("data"), value.first == UInt8(ascii: "{") else { continue }
            var data = JSONWalk(value, storage: WalkStorage())
            while let (name, value) = data.nextMember() {
                if name.equals("kind") {
                    out.append(AnyMember.error, json: value)
                } else if name.equals("currentRev") {
                    // A client goes on with the revision that a conflict tells.
                    out.openObject(.minted)
                    out.append(AnyMember.currentRev, json: value)
                    out.closeObject()
                }
            }
        }
    }

    private static func append(
        _ object: Bytes, _ fields: [Field], isReplaced: Bool, _ request: RecordedRequest, to out: inout ByteBuffer
    ) {
        var walk = JSONWalk(object, storage: WalkStorage())
        out.append(UInt8(ascii: "{"))
        while let (name, value) = walk.nextMember() {
            guard let field = fields.first(where: { field in field.name.withBytes { $0.equals(name) } }),
                field.hasMinted
            else { continue }
            let isReplaced = isReplaced || field.isSecret
            switch (field.type, value.first) {
            case (.object(let inner), UInt8(ascii: "{")):
                out.append(key: name)
                append(value, inner, isReplaced: isReplaced, request, to: &out)
            case (.list(of: .object(let inner), _), UInt8(ascii: "[")):
                out.append(key: name)
                append(list: value, to: &out) { append($0, inner, isReplaced: isReplaced, request, to: &$1) }
            case (.list(of: .map(of: .json), _), UInt8(ascii: "[")):
                out.append(key: name)
                append(list: value, to: &out) { append(anything: $0, request, to: &$1) }
            case (.list, UInt8(ascii: "[")):
                out.append(key: name)
                append(list: value, to: &out) { append(value: $0, isReplaced: isReplaced, request, to: &$1) }
            case (.object, _), (.list, _), (_, UInt8(ascii: "{")), (_, UInt8(ascii: "[")): continue
            default:
                out.append(key: name)
                append(value: value, isReplaced: isReplaced, request, to: &out)
            }
        }
        out.append(UInt8(ascii: "}"))
    }

    /// The result of an operation of a transaction, of which method ever.
    private static func append(anything object: Bytes, _ request: RecordedRequest, to out: inout ByteBuffer) {
        var walk = JSONWalk(object, storage: WalkStorage())
        out.append(UInt8(ascii: "{"))
        while let (name, value) = walk.nextMember() {
            let isText = value.first == UInt8(ascii: "\"")
            let type = isText ? ValueType.text(maxBytes: .max) : .integer(0...WireLimits.safeInteger)
            let word = String(name)
            guard isText || JSONNumber.integer(value) != nil, Field.mintedKind(word, type) != nil else { continue }
            out.append(key: name)
            append(value: value, isReplaced: Field.secretNames.contains(word), request, to: &out)
        }
        out.append(UInt8(ascii: "}"))
    }

    private static func append(
        list: Bytes, to out: inout ByteBuffer, _ body: (Bytes, inout ByteBuffer) -> Void
    ) {
        var walk = JSONWalk(list, storage: WalkStorage())
        out.append(UInt8(ascii: "["))
        while let element = walk.nextElement() {
            out.beginElement()
            body(element, &out)
        }
        out.append(UInt8(ascii: "]"))
    }

    private static func append(
        value: Bytes, isReplaced: Bool, _ request: RecordedRequest, to out: inout ByteBuffer
    ) {
        if isReplaced, value.first == UInt8(ascii: "\"") {
            request.replace(value, to: &out)
        } else {
            out.append(value)
        }
    }
}
