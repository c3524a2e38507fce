import KuraBytes
import KuraProtocol
import KuraSocket
import KuraTransport
import Testing

@testable import KuraServer

/// Turns of one connection, held against a list of what each of its requests has done: each request takes effect once and is answered once,
/// whatever is taken back.
@Suite struct TurnUndoTests {
    /// What becomes of a request when it is begun.
    private enum Kind: CaseIterable {
        /// Answered at once; its change is taken back with the turn.
        case write
        /// Answered at once; it changes nothing.
        case read
        /// Waits first.
        case waits
        /// Its change is not taken back, so the turn is kept up to it.
        case keeps
    }

    private enum Attempt { case answered, waits, needsCommit }

    private final class World {
        let connection = Connection.lone(lineLimit: 1000)
        let pool = BufferPool(limit: 4, largest: 1 << 10)
        let changes = ChangeFeed(limits: ServerLimits())
        let reader = RequestReader()
        let kinds: [Kind]
        /// How often each request has taken effect, and how often since the turn was kept last.
        var effects: [Int]
        var unkept: [Int: Int] = [:]
        /// What the request waits for that has waited since an earlier turn.
        var hasCome = false
        /// Replies that are there for good.
        var replied: [Int] = []

        init(_ count: Int, isUnordered: Bool, seed: UInt64) {
            var random = SplitMix(state: seed)
            kinds = (0..<count).map { _ in Kind.allCases.randomElement(using: &random)! }
            effects = Array(repeating: 0, count: count)
            connection.state.lines.isUnordered = isUnordered
        }

        static func line(_ number: Int) -> [UInt8] {
            Array(#"{"jsonrpc":"2.0","id":\#(number),"method":"storage.ping"}"#.utf8) + [0x0A]
        }

        private func number(_ lower: Int, _ upper: Int) -> Int {
            let text = String(decoding: Array(connection.input.bytes[lower..<upper]), as: UTF8.self)
            return Int(text.split(separator: "\"id\":")[1].prefix { $0.isNumber })!
        }

        /// Begins a request, or goes on with it, as the server does.
        private func answer(_ lower: Int, _ upper: Int, isAhead: Bool) throws -> Attempt {
            let number = number(lower, upper)
            let line = Bytes(rebasing: connection.input.bytes[lower..<upper])
            let begun = isAhead ? nil : connection.begun
            if begun == nil || !begun!.resume(reader, in: line) { _ = try reader.read(line, batchLimit: 0) }
            #expect(reader.replyID.elementsEqual(String(number).utf8))
            switch kinds[number] {
            case .read: break
            case .write:
                connection.state.barriers.dependsOnCommit(at: connection.outputEnd)
                unkept[number, default: 0] += 1
            case .waits:
                if let begun, begun.progress.outcome != nil { break }
                guard !isAhead else { return .waits }
                let waiting = begun ?? BegunRequest()
                connection.begun = waiting
                waiting.wait(for: .room, reader, next: 0)
                return .waits
            case .keeps:
                guard !connection.state.barriers.dependsOnTurn else { return .needsCommit }
                effects[number] += 1
            }
            if !isAhead { connection.begun = nil }
            connection.output.append(text: "\(number)\n")
            return .answered
        }

        private func keep() {
            connection.keepTurn()
            for (number, count) in unkept { effects[number] += count }
            unkept = [:]
        }

        func process() throws {
            connection.state.lines.hasMore = false
            guard !connection.isWaiting else { return try answerAhead() }
            connection.state.lines.begin()
            while case .line(let lower, let upper) = connection.state.lines.next(in: connection.input.bytes) {
                switch try answer(lower, upper, isAhead: false) {
                case .answered:
                    if kinds[number(lower, upper)] == .keeps { keep() }
                    continue
                case .waits: connection.state.lines.putBack(to: lower)
                case .needsCommit:
                    connection.state.lines.putBack(to: lower)
                    connection.state.lines.hasMore = true
                    return
                }
                return try answerAhead()
            }
        }

        private func answerAhead() throws {
            guard var behind = connection.state.lines.linesBehind(in: connection.input.bytes) else { return }
            while case .line(let lower, let upper) = behind.next(in: connection.input.bytes) {
                guard connection.state.lines.mayAnswerAny, !connection.state.lines.isAnswered(lower) else {
                    connection.state.lines.pass(to: behind.consumed)
                    continue
                }
                switch try answer(lower, upper, isAhead: true) {
                case .answered: connection.state.lines.answer(lower..<behind.consumed)
                case .waits: connection.state.lines.stick(to: behind.consumed)
                case .needsCommit:
                    connection.state.lines.hasMore = true
                    return
                }
                if kinds[number(lower, upper)] == .keeps { keep() }
            }
        }

        func turn(noSpace: Bool) throws {
            if connection.isWaiting, hasCome {
                connection.begun?.wake(nil, TransferOutcome(answer: .error(RPCError(.cancelled))))
            }
            connection.beginTurn(pool, isTight: false)
            hasCome = false
            let before = connection.output.count
            try process()
            if noSpace {
                _ = connection.takeTurnBack(changes)
                unkept = [:]
                #expect(connection.output.count >= before, "what was kept stays")
                try process()
            }
            for (number, count) in unkept { effects[number] += count }
            unkept = [:]
            connection.endTurn(pool)
            replied = String(decoding: Array(connection.output.bytes), as: UTF8.self).split(separator: "\n")
                .map { Int($0)! }
        }

        /// The numbers of the lines that the input still has.
        var left: [Int] {
            var framer = LineFramer(limit: 1000)
            framer.skip(to: connection.state.lines.consumed)
            var numbers: [Int] = []
            while case .line(let lower, let upper) = framer.next(in: connection.input.bytes) {
                numbers.append(number(lower, upper))
            }
            return numbers
        }
    }

    @Test(arguments: [false, true], 0..<150)
    func `each request takes effect once and is answered once`(isUnordered: Bool, seed: UInt64) throws {
        let world = World(24, isUnordered: isUnordered, seed: seed)
        var random = SplitMix(state: seed &+ 1)
        let bytes = (0..<24).flatMap(World.line)
        var sent = 0
        var turns = 0
        while world.replied.count < 24 {
            turns += 1
            try #require(turns < 1000, "a request is never answered")
            let piece = min(bytes.count - sent, Int.random(in: 0...300, using: &random))
            world.connection.input.append(Array(bytes[sent..<sent + piece]))
            sent += piece
            world.hasCome = Bool.random(using: &random)
            try world.turn(noSpace: Int.random(in: 0..<3, using: &random) == 0)
            #expect(Set(world.replied).count == world.replied.count, "one is answered twice")
            if !isUnordered { #expect(world.replied == world.replied.sorted()) }
            // What is answered leaves the input, and nothing else does.
            let whole = bytes[..<sent].filter { $0 == 0x0A }.count
            #expect(world.left == (0..<whole).filter { !world.replied.contains($0) }, "seed \(seed)")
            for number in 0..<24 {
                let isDone = world.replied.contains(number)
                let isChange = world.kinds[number] == .write || world.kinds[number] == .keeps
                #expect(world.effects[number] == (isDone && isChange ? 1 : 0), "seed \(seed), request \(number)")
            }
        }
    }

    @Test func `what the turn has kept is not taken back, and what came behind it is`() {
        var undo = TurnUndo()
        var state = ConnectionState(lineLimit: 100)
        undo.begin(state, output: 10)
        state.lines.hasMore = true
        undo.note(.waited)
        undo.keep(state, output: 20)
        undo.note(.subscribed)
        state.lines.hasMore = false
        let undone = undo.takeBack()
        #expect(undone?.state.lines.hasMore == true)
        #expect(undone?.output == 20)
        #expect(undone?.feedChanges.count == 1)
        // The turn goes on from there, and may be taken back again.
        let again = undo.takeBack()
        #expect(again?.feedChanges.isEmpty == true)
        undo.end()
        let none = undo.takeBack()
        #expect(none?.output == nil)
    }
}
