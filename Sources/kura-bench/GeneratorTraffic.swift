import Glibc

// Safety: an index is of a connection of this generator; a template fits `depth` times into its output, and replies
// are scanned within the bytes that have come. These are the loops that the measurement must not wait for, so that
// nothing is checked twice.

/// The bytes of a generator: rendering requests into a connection, sending them, reading the replies.
extension Generator {
    /// Puts the next request at the end of a connection's output: key and counter digits into a rendered one.
    @inline(__always)
    mutating func append(_ index: Int, since: UInt64) {
        let connection = unsafe connections + index
        let isWrite: Bool
        let start = unsafe connection.pointee.output + connection.pointee.outputCount
        switch percentWrites {
        case 0: isWrite = false
        case 100: isWrite = true
        default:
            isWrite = random.below(100) < UInt64(percentWrites)
            let bytes = isWrite ? writeTemplate.bytes : readTemplate.bytes
            unsafe bytes.withUnsafeBufferPointer { _ = unsafe memcpy(start, $0.baseAddress!, $0.count) }
        }
        if isWrite {
            let key = nextKey()
            if let times = plan.sendTimes { times[Int(key)] = since }
            unsafe Digits.patchKey(key, at: start + writeTemplate.keyOffset)
            if let offset = writeTemplate.counterOffset { unsafe counter.patchNext(at: start + offset) }
            unsafe connection.pointee.outputCount &+= writeTemplate.bytes.count
        } else {
            unsafe Digits.patchKey(nextKey(), at: start + readTemplate.keyOffset)
            unsafe connection.pointee.outputCount &+= readTemplate.bytes.count
        }
        unsafe connection.pointee.push(since: since, isWrite: isWrite)
        issued &+= 1
        inFlight &+= 1
    }

    @inline(__always)
    private mutating func nextKey() -> UInt32 {
        if plan.keyOrder == .random { return UInt32(truncatingIfNeeded: random.below(UInt64(plan.options.keys))) }
        let key = nextAscendingKey
        nextAscendingKey = key &+ 1 == UInt32(plan.options.keys) ? 0 : key &+ 1
        return key
    }

    /// Sends what the socket takes; the rest waits for room.
    @inline(__always)
    mutating func flush(_ index: Int) throws {
        let connection = unsafe connections + index
        while unsafe connection.pointee.outputSent < connection.pointee.outputCount {
            let rest = unsafe connection.pointee.outputCount - connection.pointee.outputSent
            let count = unsafe write(
                connection.pointee.descriptor, connection.pointee.output + connection.pointee.outputSent, rest)
            if count > 0 {
                unsafe connection.pointee.outputSent &+= count
            } else if errno == EAGAIN {
                if unsafe !connection.pointee.waitsForRoom {
                    unsafe connection.pointee.waitsForRoom = true
                    try unsafe poller.watchRoom(connection.pointee.descriptor, index: index, true)
                }
                return
            } else if errno != EINTR {
                throw BenchError.system("write")
            }
        }
        unsafe connection.pointee.outputSent = 0
        unsafe connection.pointee.outputCount = 0
        if unsafe connection.pointee.waitsForRoom {
            unsafe connection.pointee.waitsForRoom = false
            try unsafe poller.watchRoom(connection.pointee.descriptor, index: index, false)
        }
    }

    /// Reads once from a connection and counts the replies that are whole.
    ///
    /// - Returns: the time they were read at.
    @inline(__always)
    mutating func receive(_ index: Int) throws -> UInt64 {
        let connection = unsafe connections + index
        let count = unsafe read(
            connection.pointee.descriptor, connection.pointee.input + connection.pointee.inputCount,
            connection.pointee.inputCapacity - connection.pointee.inputCount)
        let now = Clock.now()
        guard count > 0 else {
            if count == 0 { throw BenchError.failed("the server closed the connection") }
            if poller.blocking && errno == EAGAIN { throw BenchError.failed("no reply for 30 s") }
            if errno == EAGAIN || errno == EINTR { return now }
            throw BenchError.system("read")
        }
        unsafe connection.pointee.inputCount &+= count
        var consumed = 0
        let whole = unsafe connection.pointee.inputCount
        let input = unsafe connection.pointee.input
        while unsafe connection.pointee.pendingCount > 0 {
            let request = unsafe connection.pointee.pending[connection.pointee.pendingHead]
            let reply = unsafe scanner.next(input + consumed, whole - consumed, isRead: !request.isWrite)
            if reply.verdict == .incomplete { break }
            if reply.verdict == .refused { throw unsafe refusal(input + consumed, reply.length) }
            let latency = now &- request.since
            if request.isWrite {
                tally.acknowledgedWrites &+= 1
                tally.writes.record(latency)
            } else {
                if reply.verdict == .missing { tally.misses &+= 1 }
                tally.reads.record(latency)
            }
            if now <= deadline { tally.operations &+= 1 }
            unsafe connection.pointee.pop()
            inFlight &-= 1
            consumed &+= reply.length
        }
        if unsafe connection.pointee.pendingCount == 0 && consumed < whole {
            throw BenchError.failed("more replies than requests")
        }
        unsafe connection.pointee.keep(from: consumed)
        if unsafe connection.pointee.inputCount == connection.pointee.inputCapacity {
            throw BenchError.failed(unsafe "a reply does not fit in \(connection.pointee.inputCapacity) bytes")
        }
        return now
    }

    private func refusal(_ start: UnsafePointer<UInt8>, _ length: Int) -> BenchError {
        let line = unsafe UnsafeBufferPointer(start: start, count: min(length, 500)).filter { $0 >= 0x20 }
        let text = String(decoding: line, as: UTF8.self)
        return .failed("the server answered: \(text)")
    }
}
