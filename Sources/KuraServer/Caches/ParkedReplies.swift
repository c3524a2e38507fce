import KuraBytes
import KuraStorage

/// Replies to requests that were parked, on their way: those that are told the same share its text. Some leave in each turn, in their order, so
/// that many who wait for one value hold up nobody.
struct ParkedReplies {
    /// Some requests that are told the same.
    private struct Round {
        /// Numbers of those who waited; they are taken as they are told.
        var numbers: [UInt64] = []
        /// Or the one who has been taken already.
        var waiter: CacheClaims.Waiter?
        var next = 0
        /// The members of the result.
        var text: [UInt8]
        /// Bytes of text that may still leave: whoever comes behind that is told of a miss, asks again, and finds it.
        var left = valueBytes
    }
    private var rounds: [Round] = []
    private var head = 0
    /// Bytes of the texts that wait.
    private(set) var bytes = 0
    /// Those whose connections are in the middle of a batch's line.
    private var held: [(waiter: CacheClaims.Waiter, text: [UInt8])] = []

    /// Bytes of copies of one text, and of texts that wait to leave.
    static let valueBytes = 32 << 20

    var isEmpty: Bool { head == rounds.count && held.isEmpty }
    /// There is more than what others hold up.
    var isDue: Bool { head < rounds.count }
    /// Texts with values are told no more.
    var isFull: Bool { bytes > Self.valueBytes }

    mutating func append(_ numbers: [UInt64], _ text: [UInt8]) {
        guard !numbers.isEmpty else { return }
        rounds.append(Round(numbers: numbers, text: text))
        bytes += text.count
    }

    mutating func append(_ waiter: CacheClaims.Waiter, _ text: [UInt8]) {
        rounds.append(Round(waiter: waiter, text: text))
        bytes += text.count
    }

    mutating func hold(_ waiter: CacheClaims.Waiter, _ text: [UInt8]) { held.append((waiter, text)) }

    /// Those that were held up are tried again.
    mutating func releaseHeld() {
        for (waiter, text) in held { append(waiter, text) }
        held.removeAll()
    }

    /// The next who is told, and what.
    mutating func next(_ claims: CacheClaims) -> (waiter: CacheClaims.Waiter, text: [UInt8])? {
        while head < rounds.count {
            if let waiter = rounds[head].waiter {
                defer { endRound() }
                return (waiter, rounds[head].text)
            }
            while rounds[head].next < rounds[head].numbers.count {
                let number = rounds[head].numbers[rounds[head].next]
                rounds[head].next += 1
                guard let waiter = claims.take(number) else { continue }
                rounds[head].left -= rounds[head].text.count
                return (waiter, rounds[head].left > 0 ? rounds[head].text : Self.miss)
            }
            endRound()
        }
        return nil
    }

    /// Instead of members: the daemon stops. That is no miss, which would have somebody fetch what others have.
    static let shuttingDown: [UInt8] = []
    static let miss = Array("\"state\":\"miss\",\"ageMs\":0".utf8)

    private mutating func endRound() {
        bytes -= rounds[head].text.count
        rounds[head].text = []
        head += 1
        guard head == rounds.count || head >= 1024 else { return }
        rounds.removeFirst(head)
        head = 0
    }
}
