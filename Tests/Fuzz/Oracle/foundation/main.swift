// Which texts Foundation's JSONSerialization accepts, for scripts/fuzz.d/oracle.py: texts as for the reader's tool, and 0 or 1
// for each.
import Foundation

func readExactly(_ count: Int) -> Data? {
    var bytes = [UInt8](repeating: 0, count: count)
    return fread(&bytes, 1, count, stdin) == count ? Data(bytes) : nil
}

while let head = readExactly(4), let text = readExactly(head.reversed().reduce(0, { $0 << 8 | Int($1) })) {
    print((try? JSONSerialization.jsonObject(with: text, options: .fragmentsAllowed)) == nil ? 0 : 1)
}
