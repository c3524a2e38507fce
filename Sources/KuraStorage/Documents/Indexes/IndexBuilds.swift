/// The builds of indexes that are under way, ordinary and full text ones, for what the operator is told at their end.
struct IndexBuilds {
    /// A line for the operator. `isFailure`: somebody should look at it.
    struct Line: Equatable {
        var text: String
        var isFailure = false
    }

    /// When they began, by the number of the index, that of a full text index negative.
    private var beginnings: [Int64: UInt64] = [:]
    /// Nanoseconds of the longest piece of tending since no index was being built.
    private var longestPiece: UInt64 = 0

    /// The fold thread has been busy with them for so long at once.
    mutating func note(piece: UInt64) { longestPiece = max(longestPiece, piece) }

    /// - Returns: a line for each build that has ended.
    mutating func note(_ statuses: [IndexStatus], _ time: UInt64) -> [Line] {
        statuses.compactMap { status in
            let isBuilding = status.state == .building || status.state == .built
            return end(status.number, isBuilding: isBuilding, time).map { took, longest in
                Line(text: status.line(took: took, longestPiece: longest), isFailure: status.state == .failed)
            }
        }
    }

    /// The same of full text indexes.
    mutating func note(_ statuses: [SearchStatus], _ time: UInt64) -> [Line] {
        statuses.compactMap { status in
            end(-status.number, isBuilding: status.state == .building, time).map { took, longest in
                Line(text: status.line(took: took, longestPiece: longest))
            }
        }
    }

    /// - Returns: how long a build took that has ended, and the longest piece.
    private mutating func end(_ number: Int64, isBuilding: Bool, _ time: UInt64) -> (UInt64, UInt64)? {
        if isBuilding {
            if beginnings[number] == nil { beginnings[number] = time }
            return nil
        }
        guard let start = beginnings.removeValue(forKey: number) else { return nil }
        defer { if beginnings.isEmpty { longestPiece = 0 } }
        return (time - start, longestPiece)
    }
}
