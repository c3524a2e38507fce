// Kura's own readers for scripts/bench json: `kura request FILE SECONDS` prints nanoseconds a request line, `kura text FILE
// SECONDS` megabytes a second by each grammar. It is built against the module KuraProtocol, as the server is.
import Glibc
import KuraBytes
import KuraProtocol

func now() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) * 1e9 + Double(time.tv_nsec)
}

func contents(of path: String) -> Bytes {
    let file = fopen(path, "r")!
    fseek(file, 0, SEEK_END)
    let size = ftell(file)
    rewind(file)
    let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 16)
    precondition(fread(bytes.baseAddress!, 1, size, file) == size)
    return Bytes(bytes)
}

/// Nanoseconds a round.
func measure(_ seconds: Double, _ body: () -> Void) -> Double {
    let start = now()
    var rounds = 0.0
    var end = start
    repeat {
        body()
        rounds += 1
        end = now()
    } while end - start < seconds * 1e9
    return (end - start) / rounds
}

/// The envelope, the method, and each parameter's type and limits; then what a handler takes.
@inline(never)
func readRequests(_ reader: RequestReader, _ line: Bytes, _ count: Int) -> Int {
    var sum = 0
    for _ in 0..<count {
        guard case .request? = try? reader.read(line, batchLimit: 1000) else { fatalError("refused") }
        sum &+= reader.replyID.count &+ reader.string(0).count &+ reader.string(1).count &+ reader.json(2).count
    }
    return sum
}

let arguments = CommandLine.arguments
let text = contents(of: arguments[2])
let seconds = Double(arguments[3])!
switch arguments[1] {
case "request":
    let reader = RequestReader()
    let time = measure(seconds) { precondition(readRequests(reader, text, 1000) > 0) }
    print("kura", time / 1000, separator: "\t")
default:
    let names = NameStack()
    for (name, grammar) in [("kura (wire)", JSONGrammar.wire), ("kura (RFC 8259)", .rfc8259)] {
        let time = measure(seconds) {
            names.truncate(to: 0)
            var reader = JSONReader(text, grammar: grammar, names: names)
            guard (try? reader.value()) != nil, (try? reader.expectEnd()) != nil else { fatalError("refused") }
        }
        print(name, Double(text.count) / time * 1000, separator: "\t")
    }
}
