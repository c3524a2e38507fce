import Glibc
import KuraBytes

/// One input of the fuzzer, in memory of its own, so that AddressSanitizer sees the first byte that is read beyond it.
func withInput(_ data: UnsafePointer<UInt8>?, _ count: Int, _ body: (Bytes) -> Void) {
    withExactBytes(Bytes(start: data, count: count), body)
}

/// The same bytes in a block that is exactly as long as they are.
func withExactBytes<Result>(_ bytes: Bytes, _ body: (Bytes) -> Result) -> Result {
    // Zero bytes have an address too: it must not be read.
    let block = malloc(bytes.count)!
    defer { free(block) }
    if let from = bytes.baseAddress { memcpy(block, from, bytes.count) }
    return body(Bytes(start: block, count: bytes.count))
}

func withExactBytes<Result>(_ bytes: [UInt8], _ body: (Bytes) -> Result) -> Result {
    bytes.withBytes { withExactBytes($0, body) }
}

/// What must hold for every input. The run ends at the first one for which it does not.
func check(_ condition: Bool, _ what: @autoclosure () -> String, line: Int = #line, file: StaticString = #file) {
    guard !condition else { return }
    let message = "\(file):\(line): does not hold: \(what())\n"
    _ = message.withCString { write(2, $0, strlen($0)) }
    abort()
}

/// Numbers that follow from the input alone.
struct Dice {
    private var state: UInt64

    init(_ bytes: Bytes) {
        state = bytes.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    }

    /// From 0 to below `bound`.
    mutating func roll(_ bound: Int) -> Int {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return Int(state >> 33) % bound
    }

    /// The bytes in pieces of any size.
    mutating func pieces(of bytes: Bytes) -> [Bytes] {
        var pieces: [Bytes] = []
        var start = 0
        // Now and then all of them are short.
        let most = roll(3) == 0 ? 3 : max(bytes.count, 1)
        while start < bytes.count {
            let end = min(bytes.count, start + 1 + roll(most))
            pieces.append(Bytes(rebasing: bytes[start..<end]))
            start = end
        }
        return pieces
    }
}
