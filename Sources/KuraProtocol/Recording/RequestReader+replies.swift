public import KuraBytes

/// Under which ids a line's requests are answered: a recording and a replay ask what the daemon asks.
extension RequestReader {
    /// - Parameters:
    ///   - line: without its end.
    ///   - batchLimit: members that a batch may have.
    /// - Returns: an id for each request of the line, as its reply has it; nil where there is no reply. A line that is refused as a whole is one request.
    public func replyIDs(of line: Bytes, batchLimit: Int) -> [[UInt8]?] {
        defer { wipe() }
        do throws(RPCError) {
            guard case .batch(let count, var offset) = try read(line, batchLimit: batchLimit) else { return [ownID] }
            return (0..<count).map { _ in
                // One that is refused has an id as well.
                do throws(RPCError) { try nextMember(of: line, at: &offset) } catch {}
                return ownID
            }
        } catch { return [ownID] }
    }

    private var ownID: [UInt8]? {
        guard hasID else { return nil }
        return replyID.isEmpty ? Array("null".utf8) : Array(replyID)
    }
}
