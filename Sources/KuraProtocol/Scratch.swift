import KuraBytes

/// Reference scratch for one parameter's resolved bytes.
final class Scratch {
    private var buffer = ByteBuffer()
    var bytes: Bytes { buffer.bytes }

    func unescape(_ raw: Bytes) -> Bytes {
        buffer.removeAll()
        // At once: growing on the way would leave copies.
        buffer.reserve(raw.count)
        JSONText.unescape(raw, into: &buffer)
        return buffer.bytes
    }

    func compact(_ raw: Bytes) -> Bytes {
        buffer.removeAll()
        JSONText.compact(raw, into: &buffer)
        return buffer.bytes
    }

    /// Overwrites with zeros what it was used for last.
    func wipe() {
        buffer.wipe(0..<buffer.count)
        buffer.removeAll()
    }

    /// Gives back what one large value has made it grow to.
    func trim() {
        if buffer.capacity > 65_536 { buffer.releaseMemory() }
    }
}
