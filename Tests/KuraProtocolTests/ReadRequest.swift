import KuraProtocol

/// What a reader made of one request line, copied out of it.
struct ReadRequest {
    var method: String?
    var hasReply = false
    /// The id as the reply would carry it.
    var id = ""
    /// The error reply's line; nil when the request was accepted.
    var error: String?
    var kind: ErrorKind?
    var hint: String?
    /// The name of the parameter at fault.
    var parameter: String?
    var limit: Int?
    var batch: [ReadRequest]?
}

extension RequestReader {
    /// Reads a line, a batch's members too; `body` looks at each request that was accepted.
    func read(line: String, batchLimit: Int = 1000, _ body: (RequestReader) -> Void = { _ in }) -> ReadRequest {
        read(bytes: Array(line.utf8), batchLimit: batchLimit, body)
    }

    func read(bytes: [UInt8], batchLimit: Int = 1000, _ body: (RequestReader) -> Void = { _ in }) -> ReadRequest {
        GuardedBytes.with(bytes) { line in
            do throws(RPCError) {
                switch try read(line, batchLimit: batchLimit) {
                case .request:
                    body(self)
                    return outcome(nil)
                case .batch(let count, var offset):
                    var result = outcome(nil)
                    result.batch = (0..<count).map { _ in
                        do throws(RPCError) {
                            try nextMember(of: line, at: &offset)
                            body(self)
                            return outcome(nil)
                        } catch { return outcome(error) }
                    }
                    return result
                }
            } catch { return outcome(error) }
        }
    }

    private func outcome(_ error: RPCError?) -> ReadRequest {
        var result = ReadRequest(hasReply: hasID)
        result.id = replyID.isEmpty ? "null" : String(decoding: replyID, as: UTF8.self)
        guard let error else {
            result.method = table.methods[methodIndex].name
            return result
        }
        result.kind = error.kind
        result.hint = error.hint.map(String.init(describing:))
        result.parameter = error.parameter.map { String(decoding: $0, as: UTF8.self) }
        result.limit = error.limit
        result.error = written { $0.append(error: error, id: replyID) }
        return result
    }
}

extension Method {
    static let allKinds = Method(
        "all.kinds", .rpc, .read, needs: .nothing, "Takes one parameter of each type.",
        parameters: [
            Field("name", .name(maxBytes: 8), required: true, ""), Field("text", .text(maxBytes: 4), ""),
            Field("json", .json, ""),
            Field("integer", .integer(-5...10), ""), Field("boolean", .boolean, ""),
            Field("map", .map(of: .json), ""),
            Field("list", .list(of: .json, maxItems: 3), ""), Field("object", .object([]), ""),
            Field("word", .word(["on", "off", ""]), ""),
        ], result: [])
}
