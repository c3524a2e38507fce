import Glibc

// Safety: `read` and `write` get buffers with the lengths that are left in them.

/// Generators that are processes of their own, of one connection each.
///
/// A child connects, writes one byte to its standard output, waits for the end of its standard input (one pipe for
/// all: closing it starts all), runs, and writes its tally as 64-bit words.
enum ChildProcesses {
    /// The hidden subcommand that a child is started with.
    static let commandName = "generator"

    private struct Child {
        var pid: pid_t
        var results: Int32
    }

    static func run(_ target: Target, _ options: LoadOptions) throws -> Tally {
        let go = try pipe()
        var goOpen = true
        var children: [Child] = []
        // Children that were not waited for are told to stop by closing what they read from and write to.
        defer {
            close(go.read)
            if goOpen { close(go.write) }
            for child in children {
                close(child.results)
                kill(child.pid, SIGKILL)
                waitpid(child.pid, nil, 0)
            }
        }
        let program = try Spawn.ownPath()
        for index in 0..<options.processes {
            let results = try pipe()
            let words = [program, commandName, "--target", target.text, "--index", "\(index)"]
            do {
                let pid = try Spawn.start(
                    words + options.words(forProcess: index), descriptors: [go.read, results.write])
                children.append(Child(pid: pid, results: results.read))
                close(results.write)
            } catch {
                close(results.write)
                close(results.read)
                throw error
            }
        }
        for child in children {
            var byte: UInt8 = 0
            guard unsafe read(child.results, &byte, 1) == 1 else {
                throw BenchError.failed("a generator did not start")
            }
        }
        close(go.write)
        goOpen = false
        var tally = Tally()
        for child in children { tally.merge(try receive(child.results)) }
        return tally
    }

    static func pipe() throws -> (read: Int32, write: Int32) {
        var ends: [Int32] = [-1, -1]
        guard unsafe Glibc.pipe(&ends) == 0 else { throw BenchError.system("pipe") }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        return (ends[0], ends[1])
    }

    private static func receive(_ descriptor: Int32) throws -> Tally {
        var words = [UInt64](repeating: 0, count: Tally.wordCount)
        let size = words.count * 8
        var done = 0
        while done < size {
            let count = unsafe words.withUnsafeMutableBytes {
                unsafe read(descriptor, $0.baseAddress! + done, size - done)
            }
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { throw BenchError.failed("a generator failed") }
            done += count
        }
        return Tally(words: words)
    }

    /// The child's side.
    static func runChild(_ arguments: inout Arguments) throws {
        let target = try arguments.target("--target")
        let index = try arguments.integer("--index", default: 0, in: 0...9999)
        var plan = Plan(target: target, options: try LoadOptions(&arguments))
        try arguments.finish()
        plan.generator = index
        var generator = try Generator.prepare(plan)
        var byte: UInt8 = 1
        guard unsafe write(1, &byte, 1) == 1 else { throw BenchError.system("write") }
        while unsafe read(0, &byte, 1) > 0 {}
        try send(try generator.run())
    }

    /// Hands a tally to the process that waits for it.
    static func send(_ tally: Tally) throws {
        let words = tally.words
        var done = 0
        while done < words.count * 8 {
            let count = unsafe words.withUnsafeBytes { unsafe write(1, $0.baseAddress! + done, $0.count - done) }
            if count < 0 {
                if errno == EINTR { continue }
                throw BenchError.system("write")
            }
            done += count
        }
    }
}
