import KuraBytes
import KuraProtocol
import KuraStorage

/// Replies to requests that were parked, on their way: those that are told the same share its text. Some leave in each turn, in their order, so
/// that many who wait for one value hold up nobody. So it is with connections that are gone, whose claims others win.
struct ParkedReplies {
    enum Answer {
        /// The members of the result.
        case result([UInt8])
        case refusal(ErrorKind)

        var count: Int {
            if case .result(let text) = self { text.count } else { 0 }
        }
    }

    /// Some requests that are told the same.
    private struct Round {
        /// Numbers of those who waited; they are taken as they are told.
        var numbers: [UInt64] = []
        /// Or the one who has been taken already.
        var waiter: CacheClaims.Waiter?
        var next = 0
        var answer: Answer
        /// Bytes of text that may still leave: whoever comes behind that is told of a miss, asks again, and finds it.
        var left = valueBytes
    }
    private var rounds: [Round] = []
    private var head = 0
    /// Bytes of the texts that wait.
    private(set) var bytes = 0
    /// Those whose connections are in the middle of a batch's line.
    private var held: [(waiter: CacheClaims.Waiter, answer: Answer)] = []
    /// Connections that are gone, and whose claims have not ended yet.
    private var departed: ArraySlice<UInt64> = []

    /// Bytes of copies of one text, and of texts that wait to leave.
    static let valueBytes = 32 << 20

    var isEmpty: Bool { head == rounds.count && held.isEmpty }
    /// There is more than what others hold up.
    var isDue: Bool { head < rounds.count }
    /// Texts with values are told no more.
    var isFull: Bool { bytes > Self.valueBytes }

    /// A connection is gone that had to do with what others fetch.
    mutating func depart(_ token: UInt64) { departed.append(token) }

    var hasDeparted: Bool { !departed.isEmpty }

    /// The one that went first: its claims end now.
    mutating func takeDeparted() -> UInt64? { departed.popFirst() }

    mutating func append(_ numbers: [UInt64], _ answer: Answer) {
        guard !numbers.isEmpty else { return }
        rounds.append(Round(numbers: numbers, answer: answer))
        bytes += answer.count
    }

    mutating func append(_ waiter: CacheClaims.Waiter, _ answer: Answer) {
        rounds.append(Round(waiter: waiter, answer: answer))
        bytes += answer.count
    }

    mutating func hold(_ waiter: CacheClaims.Waiter, _ answer: Answer) { held.append((waiter, answer)) }

    /// Those that were held up are tried again.
    mutating func releaseHeld() {
        for (waiter, answer) in held { append(waiter, answer) }
        held.removeAll()
    }

    /// The next who is told, and what.
    mutating func next(_ claims: CacheClaims) -> (waiter: CacheClaims.Waiter, answer: Answer)? {
        while head < rounds.count {
            if let waiter = rounds[head].waiter {
                defer { endRound() }
                return (waiter, rounds[head].answer)
            }
            while rounds[head].next < rounds[head].numbers.count {
                let number = rounds[head].numbers[rounds[head].next]
                rounds[head].next += 1
                guard let waiter = claims.take(number) else { continue }
                rounds[head].left -= rounds[head].answer.count
                return (waiter, rounds[head].left > 0 ? rounds[head].answer : Self.miss)
            }
            endRound()
        }
        return nil
    }

    static let missMembers = Call.text { $0.append(ModelView.miss, of: nil) }
    static let miss = Answer.result(missMembers)

    private mutating func endRound() {
        bytes -= rounds[head].answer.count
        rounds[head].answer = .result([])
        head += 1
        guard head == rounds.count || head >= 1024 else { return }
        rounds.removeFirst(head)
        head = 0
    }
}
