import KuraBytes
import Testing

@testable import KuraProtocol

@Suite struct BoundRequestTests {
    private struct Parameters: Equatable {
        var id: [UInt8]
        var hasID: Bool
        var method: [UInt8]
        var key: [UInt8]?
        var texts: [[UInt8]] = []
        var values: [[UInt8]] = []
        var numbers: [Int64?] = []

        init(_ reader: RequestReader) {
            (id, hasID, method) = (Array(reader.replyID), reader.hasID, Array(reader.methodName))
            key = reader.requestKey.map { Array($0) }
            for position in 0..<reader.table.entries[reader.methodIndex].parameterCount {
                texts.append(Array(reader.string(position)))
                values.append(Array(reader.json(position)))
                numbers.append(reader.integer(position))
            }
        }
    }

    private static let lines = [
        #"{"jsonrpc":"2.0","id":1,"method":"settings.put","params":{"domain":"d","key":"k","value":{"a":1}}}"#,
        #"{"jsonrpc":"2.0","id":"\u0061","method":"settings.put","params":{"key":"\u006b","domain":"d\"","value":[ 1, 2 ]}}"#,
        #"{"jsonrpc":"2.0","method":"settings.put","params":["d","k",true,7,"once"]}"#,
        #"{"params":{"collection":"c","where":{"n":{"$gt":5}},"limit":3},"jsonrpc":"2.0","id":null,"method":"documents.find"}"#,
        #"{"jsonrpc":"2.0","id":2,"method":"storage.ping"}"#,
    ]

    @Test(arguments: lines)
    func `a request that is put aside is the same when it goes on, wherever its line lies by then`(line: String) throws
    {
        let reader = RequestReader()
        let other = Array(
            #"{"jsonrpc":"2.0","id":9,"method":"settings.get","params":{"domain":"\u0078","key":"\u0079"}}"#.utf8)
        var text = Array(line.utf8)
        let (before, bound) = try text.withBytes { bytes in
            _ = try reader.read(bytes, batchLimit: 0)
            return (Parameters(reader), reader.boundRequest)
        }
        other.withBytes { _ = try? reader.read($0, batchLimit: 0) }
        reader.wipe()
        text.reserveCapacity(text.count * 2 + 64)
        text.withBytes { bytes in
            reader.resume(bound, in: bytes)
            #expect(Parameters(reader) == before)
        }
    }

    @Test func `a member of a batch goes on in its line`() throws {
        let reader = RequestReader()
        let members = Self.lines.joined(separator: ",")
        let line = Array("[\(members)]".utf8)
        try line.withBytes { bytes in
            guard case .batch(let count, var offset) = try reader.read(bytes, batchLimit: 10) else {
                Issue.record("no batch")
                return
            }
            for _ in 0..<count {
                try reader.nextMember(of: bytes, at: &offset)
                let (before, bound) = (Parameters(reader), reader.boundRequest)
                reader.resume(bound, in: bytes)
                #expect(Parameters(reader) == before)
            }
        }
    }
}
