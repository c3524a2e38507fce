import KuraBytes
import KuraProtocol

/// What is wrong with a whole text; nil when it is JSON.
func fault(
    in text: some Collection<UInt8>, _ grammar: JSONGrammar = .wire, depth: Int = JSONReader.defaultMaximumDepth
) -> JSONFault? {
    GuardedBytes.with(text) { bytes in
        var reader = JSONReader(bytes, grammar: grammar, maximumDepth: depth, names: NameStack())
        do throws(JSONFault) {
            _ = try reader.value()
            try reader.expectEnd()
            return nil
        } catch {
            return error
        }
    }
}

func fault(in text: String, _ grammar: JSONGrammar = .wire, depth: Int = JSONReader.defaultMaximumDepth) -> JSONFault? {
    fault(in: Array(text.utf8), grammar, depth: depth)
}

func compacted(_ text: [UInt8]) -> [UInt8] {
    var output = ByteBuffer()
    text.withBytes { JSONText.compact($0, into: &output) }
    return Array(output.bytes)
}

func compacted(_ text: String) -> String {
    String(decoding: compacted(Array(text.utf8)), as: UTF8.self)
}

func unescaped(_ text: String) -> String {
    var output = ByteBuffer()
    Array(text.utf8).withBytes { JSONText.unescape($0, into: &output) }
    return String(decoding: output.bytes, as: UTF8.self)
}

/// What `body` appends to an empty buffer.
func written(_ body: (inout ByteBuffer) -> Void) -> String {
    var output = ByteBuffer()
    body(&output)
    return String(decoding: output.bytes, as: UTF8.self)
}
