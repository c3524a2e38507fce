import Glibc

// Safety: the caller has `count` bytes at `start`; places behind the first line end are not read, and words only after
// a look at its length.

/// Finds the replies in received bytes and tells what each is, reading as few bytes as it can.
///
/// Kura answers one line a request: `{"jsonrpc":"2.0","id":1,"result"…` or the same with `"error"`. Redis answers
/// `+OK\r\n`, `$length\r\n…\r\n`, `$-1\r\n` or `-message\r\n`. memcached answers `STORED\r\n`, `VALUE key flags length\r\n…\r\nEND\r\n`,
/// `END\r\n`, or an error in words.
struct ReplyScanner {
    enum Verdict: UInt8 {
        /// The reply is not all there yet.
        case incomplete
        /// A write was acknowledged, or a read found its value.
        case fine
        /// A read found nothing.
        case missing
        /// An error, or not a reply to what was asked.
        case refused
    }

    struct Reply {
        var verdict: Verdict
        /// Bytes of the reply with its line end; 0 when incomplete.
        var length: Int

        static var incomplete: Reply { Reply(verdict: .incomplete, length: 0) }
    }

    static let success = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\""

    private let wire: Target.Wire
    /// What a line with a value in it cannot be shorter than.
    private let shortestWithValue: Int
    // `success` as four words: one compare each instead of a call.
    private let word0: UInt64
    private let word1: UInt64
    private let word2: UInt64
    private let word3: UInt64

    init(wire: Target.Wire, valueSize: Int) {
        self.wire = wire
        let bytes = Array(ReplyScanner.success.utf8)
        precondition(bytes.count == 32)
        shortestWithValue = bytes.count + ":{\"value\":\"\"".utf8.count + valueSize
        func word(_ index: Int) -> UInt64 {
            unsafe bytes.withUnsafeBytes { unsafe $0.loadUnaligned(fromByteOffset: index * 8, as: UInt64.self) }
        }
        (word0, word1, word2, word3) = (word(0), word(1), word(2), word(3))
    }

    /// The reply that begins at `start`, of which `count` bytes are there.
    @inline(__always)
    func next(_ start: UnsafePointer<UInt8>, _ count: Int, isRead: Bool) -> Reply {
        switch wire {
        case .kura: unsafe nextLine(start, count, isRead: isRead)
        case .redis: unsafe nextRESP(start, count, isRead: isRead)
        case .memcached: unsafe nextText(start, count, isRead: isRead)
        }
    }

    @inline(__always)
    private func nextLine(_ start: UnsafePointer<UInt8>, _ count: Int, isRead: Bool) -> Reply {
        guard count > 0, let end = unsafe memchr(start, 0x0A, count) else { return .incomplete }
        let length = unsafe end - UnsafeMutableRawPointer(mutating: start) + 1
        guard length > 32 else { return Reply(verdict: .refused, length: length) }
        let raw = unsafe UnsafeRawPointer(start)
        let same =
            unsafe (raw.loadUnaligned(as: UInt64.self) ^ word0)
            | (raw.loadUnaligned(fromByteOffset: 8, as: UInt64.self) ^ word1)
            | (raw.loadUnaligned(fromByteOffset: 16, as: UInt64.self) ^ word2)
            | (raw.loadUnaligned(fromByteOffset: 24, as: UInt64.self) ^ word3)
        guard same == 0 else { return Reply(verdict: .refused, length: length) }
        return Reply(verdict: isRead && length < shortestWithValue ? .missing : .fine, length: length)
    }

    @inline(__always)
    private func nextRESP(_ start: UnsafePointer<UInt8>, _ count: Int, isRead: Bool) -> Reply {
        guard count > 0, let end = unsafe memchr(start, 0x0A, count) else { return .incomplete }
        let header = unsafe end - UnsafeMutableRawPointer(mutating: start) + 1
        switch unsafe start[0] {
        case 0x2B:  // +OK
            return Reply(verdict: isRead ? .refused : .fine, length: header)
        case 0x24 where isRead:  // $100 or $-1
            if unsafe start[1] == 0x2D { return Reply(verdict: .missing, length: header) }
            var size = 0
            var place = 1
            while place < header - 2 {
                size = unsafe size &* 10 &+ Int(start[place] &- 0x30)
                place &+= 1
            }
            let length = header &+ size &+ 2
            return length <= count ? Reply(verdict: .fine, length: length) : .incomplete
        default:
            return Reply(verdict: .refused, length: header)
        }
    }

    @inline(__always)
    private func nextText(_ start: UnsafePointer<UInt8>, _ count: Int, isRead: Bool) -> Reply {
        guard count > 0, let end = unsafe memchr(start, 0x0A, count) else { return .incomplete }
        let header = unsafe end - UnsafeMutableRawPointer(mutating: start) + 1
        switch unsafe start[0] {
        case 0x53 where header == 8:  // STORED, not SERVER_ERROR
            return Reply(verdict: isRead ? .refused : .fine, length: header)
        case 0x45 where isRead && header == 5:  // END
            return Reply(verdict: .missing, length: header)
        case 0x56 where isRead:  // VALUE key flags length
            var place = header - 3
            while unsafe start[place] != 0x20 { place -= 1 }
            var size = 0
            while place < header - 3 {
                place &+= 1
                size = unsafe size &* 10 &+ Int(start[place] &- 0x30)
            }
            let length = header &+ size &+ 7
            return length <= count ? Reply(verdict: .fine, length: length) : .incomplete
        default:
            return Reply(verdict: .refused, length: header)
        }
    }
}
