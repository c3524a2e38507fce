import KuraBytes
import KuraProtocol

/// Parameters against the whole method table: the first byte chooses the method, the rest is `params`.
nonisolated(unsafe) private let judge = RequestJudge()

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ data: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    withInput(data, count) { input in
        guard let first = input.first else { return }
        let method = Method.all[Int(first) % Method.all.count]
        let params = Bytes(rebasing: input[1...])
        let envelope = #"{"jsonrpc":"2.0","id":7,"method":"\#(method.name)","params":"#
        withExactBytes(Array(envelope.utf8) + params + [UInt8(ascii: "}")]) { judge.judge($0) }
        withExactBytes(params) { checkCall(method, $0) }
    }
    return 0
}

/// The same parameters given apart from an envelope, as the command line does, and as an operation of a transaction.
private func checkCall(_ method: Method, _ params: Bytes) {
    guard let plain = PlainJSON.parse(Array(params)), plain.isWire else { return }
    let isList: Bool
    switch plain.value {
    case .array, .object: isList = true
    default: isList = false
    }
    let expected = isList ? RequestModel.bound(plain.value, method) : .refused(.invalidParams)
    withExactBytes(Array(method.name.utf8)) { name in
        compare(expected) { () throws(RPCError) in try judge.reader.readCall(method: name, params: params) }
    }
    let operation = #"{"method":"\#(method.name)","params":"#
    withExactBytes(Array(operation.utf8) + params + [UInt8(ascii: "}")]) { text in
        var isAccepted = false
        if case .accepted(_, let given) = expected, method.isOperation {
            isAccepted = method.requestKeyPosition.map { given[$0] == nil } ?? true
        }
        // An operation's params of another kind bind like none at all: its method says what is missing.
        guard isList else { return }
        compare(isAccepted ? expected : .refused(.invalidParams)) { () throws(RPCError) in
            try judge.reader.readOperation(text)
        }
    }
}

private func compare(_ expected: RequestModel.Verdict, _ body: () throws(RPCError) -> Void) {
    do throws(RPCError) {
        try body()
        guard case .accepted = expected else { return check(false, "accepted by the reader alone") }
    } catch { check(expected == .refused(error.kind), "refused with \(error.kind), expected \(expected)") }
}
