// Which texts Foundation's JSONSerialization accepts, for scripts/fuzz.d/oracle.py: texts as for the reader's tool, and 0 or 1
// for each.
import Foundation

while true {
    let head = FileHandle.standardInput.readData(ofLength: 4)
    guard head.count == 4 else { break }
    let text = FileHandle.standardInput.readData(ofLength: head.reversed().reduce(0) { $0 << 8 | Int($1) })
    print((try? JSONSerialization.jsonObject(with: text, options: .fragmentsAllowed)) == nil ? 0 : 1)
}
