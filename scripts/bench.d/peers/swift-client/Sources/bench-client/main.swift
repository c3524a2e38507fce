// Reads settings by one client from many tasks. usage: bench-client SOCKET TASKS SECONDS [numbers]
//        bench-client SOCKET mirror               nanoseconds that a synchronous read of a mirrored setting takes
// numbers: integers are read instead of strings of 100 bytes, so that what is returned is no allocation of its own.
import Glibc
import KuraClient
import Synchronization

let arguments = CommandLine.arguments
if arguments.count == 3, arguments[2] == "mirror" {
    let app = try await Kura.connect(to: arguments[1]).settings["bench-mirror"]
    let key = SettingKey("number", default: 0)
    try await app.put(key, 123_456)
    let mirror = try await app.mirror()
    let count = 1_000_000
    let time = ContinuousClock().measure { for _ in 0..<count { precondition(mirror[key] == 123_456) } }
    print(Int(time / .nanoseconds(1)) / count)
    exit(0)
}
let readsNumbers = arguments.count == 5 && arguments[4] == "numbers"
guard arguments.count == 4 || readsNumbers, let tasks = Int(arguments[2]), let seconds = Double(arguments[3]) else {
    exit(2)
}

/// What malloc-count.c counts, when it is loaded before the C library.
typealias Count = @convention(c) () -> Int
let counter = dlsym(nil, "kura_allocations").map { unsafeBitCast($0, to: Count.self) }

let kura = try await Kura.connect(to: arguments[1], options: ConnectOptions(name: "bench-client"))
let app = kura.settings["bench-client"]
let value = String(repeating: "v", count: 100)
let keys = (0..<1000).map { SettingKey("key-\($0)", default: "") }
let numbers = (0..<1000).map { SettingKey("number-\($0)", default: 0) }
try await app.putMany(Dictionary(uniqueKeysWithValues: try keys.map { ($0.name, try RawJSON(encoding: value)) }))
try await app.putMany(Dictionary(uniqueKeysWithValues: try numbers.map { ($0.name, try RawJSON(encoding: 123_456)) }))

let isOver = Atomic<Bool>(false)
let isWarm = Atomic<Bool>(false)
let calls = Atomic<Int>(0)
let warmCalls = Atomic<Int>(0)
let clock = ContinuousClock()

let workers = (0..<tasks).map { worker in
    Task.detached {
        var generator = SystemRandomNumberGenerator()
        var position = Int(generator.next() % 1000)
        var done = 0
        var warm = 0
        while !isOver.load(ordering: .relaxed) {
            position = (position &+ 619) % 1000
            if readsNumbers {
                let read = try await app.get(numbers[position])
                precondition(read == 123_456)
            } else {
                let read = try await app.get(keys[position])
                precondition(read.utf8.count == 100)
            }
            if isWarm.load(ordering: .relaxed) { done += 1 } else { warm += 1 }
        }
        calls.add(done, ordering: .relaxed)
        warmCalls.add(warm, ordering: .relaxed)
    }
}
try await Task.sleep(for: .seconds(0.3))
let allocations = counter?() ?? 0
isWarm.store(true, ordering: .relaxed)
let start = clock.now
try await Task.sleep(for: .seconds(seconds))
isOver.store(true, ordering: .relaxed)
let elapsed = clock.now - start
let after = counter?() ?? 0
for worker in workers { try await worker.value }
let count = calls.load(ordering: .relaxed)
let time = Double(elapsed.components.seconds) + Double(elapsed.components.attoseconds) / 1e18
print("\(Int(Double(count) / time))" + (counter == nil ? "" : " \(Double(after - allocations) / Double(count))"))
