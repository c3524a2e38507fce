// Foundation's JSONSerialization for scripts/bench json: `foundation text FILE SECONDS` prints megabytes a second.
import Foundation

let text = try Data(contentsOf: URL(fileURLWithPath: CommandLine.arguments[2]))
let start = ContinuousClock.now
var rounds = 0.0
repeat {
    _ = try JSONSerialization.jsonObject(with: text)
    rounds += 1
} while ContinuousClock.now - start < .seconds(Double(CommandLine.arguments[3])!)
let time = ContinuousClock.now - start
let seconds = Double(time.components.seconds) + Double(time.components.attoseconds) / 1e18
print("Foundation", Double(text.count) * rounds / seconds / 1e6, separator: "\t")
