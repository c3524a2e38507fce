import KuraBytes
import KuraProtocol

/// `LineFramer`: the frames do not depend on the pieces in which the bytes come, nor on when its caller drops what is done.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ data: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    withInput(data, count) { bytes in
        guard let first = bytes.first else { return }
        // Short limits, so that lines of any length come over them.
        let limit = 1 + Int(first) % 40
        let text = Bytes(rebasing: bytes[1...])
        var dice = Dice(bytes)
        let expected = plainFrames(Array(text), limit: limit)
        check(frames([text], limit: limit, &dice) == expected, "in one piece")
        for _ in 0..<3 { check(frames(dice.pieces(of: text), limit: limit, &dice) == expected, "in pieces") }
    }
    return 0
}

private enum Frame: Equatable {
    case line([UInt8])
    case oversize
}

/// The law of frames, as plainly as can be.
private func plainFrames(_ text: [UInt8], limit: Int) -> [Frame] {
    text.split(separator: 0x0A, omittingEmptySubsequences: false).compactMap { line in
        let line = line.last == 0x0D ? line.dropLast() : line
        if line.count > limit { return .oversize }
        return line.allSatisfy { [0x20, 0x09, 0x0D].contains($0) } ? nil : .line(Array(line))
    }
}

/// Feeds the pieces as a connection does: a buffer that grows, now and then is cut off in front, now and then moves.
private func frames(_ pieces: [Bytes], limit: Int, _ dice: inout Dice) -> [Frame] {
    var framer = LineFramer(limit: limit)
    var buffer: [UInt8] = []
    var found: [Frame] = []
    for piece in pieces {
        buffer += piece
        let isPaused = dice.roll(4) == 0
        var isDone = false
        withExactBytes(buffer) { bytes in
            while !isDone {
                let before = framer.consumed
                switch framer.next(in: bytes) {
                case .line(let lower, let upper):
                    check(
                        lower >= before && lower < upper && upper < framer.consumed, "a line lies behind what is done")
                    if dice.roll(8) == 0 {
                        // Not begun: it comes again.
                        framer.putBack(to: lower)
                    } else {
                        found.append(.line(Array(bytes[lower..<upper])))
                    }
                case .oversize: found.append(.oversize)
                case .incomplete: isDone = true
                }
                check(framer.consumed >= 0 && framer.consumed <= bytes.count, "what is done lies in the buffer")
                if isPaused, dice.roll(2) == 0 { break }
            }
        }
        if dice.roll(2) == 0 {
            buffer.removeFirst(framer.consumed)
            framer.rebase()
        }
        check(
            buffer.count - framer.consumed <= limit + 1 + piece.count || isPaused || !isDone,
            "no more is kept than a line")
    }
    // At the end of input everything that is whole is taken before the rest.
    withExactBytes(buffer) { bytes in
        while true {
            switch framer.next(in: bytes) {
            case .line(let lower, let upper): found.append(.line(Array(bytes[lower..<upper])))
            case .oversize: found.append(.oversize)
            case .incomplete:
                switch framer.last(in: bytes) {
                case .line(let lower, let upper): found.append(.line(Array(bytes[lower..<upper])))
                case .oversize: found.append(.oversize)
                case .incomplete: break
                }
                return
            }
        }
    }
    return found
}
