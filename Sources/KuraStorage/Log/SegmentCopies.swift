/// Copies of a log's segments, which opening may change.
struct SegmentCopies {
    let source: String
    let scratch: String
    let report: (String) -> Void

    /// Opens copies of all segments, in the order of their first revisions; one that cannot be opened is told of and passed over.
    /// - Returns: nil where there is no log.
    func open() throws(StorageFault) -> [any ReadableSegment]? {
        guard FileSystem.exists(source) else { return nil }
        var segments: [any ReadableSegment] = []
        for number in try LogFiles.numbers(in: source) {
            do throws(StorageFault) {
                let own = Segment.path(source, number)
                if FileSystem.exists(own), try Segment.head(own) == nil {
                    throw .damaged("\(own) is no segment of a log: neither of its two heads is whole")
                }
                for path in LogFiles.paths(number, in: source) {
                    let copy = scratch + "/" + (path.split(separator: "/").last ?? "")
                    try FileSystem.copy(path, to: copy, endsWithData: path == own)
                }
                segments.append(try LogFiles.open(number, in: scratch))
            } catch {
                if error.isFull { throw error }
                report("segment \(number) of the log cannot be read: \(error)")
            }
        }
        return segments.sorted { ($0.firstRev, $0.number) < ($1.firstRev, $1.number) }
    }
}
