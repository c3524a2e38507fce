import KuraBytes
import SQLite

/// Looking through all rows that are kept, from the oldest to the newest.
extension ChangeHistory {
    private static let mostReadings = 8

    /// Has them read; `takeVersions` gives the ticket back.
    /// - Throws: `.overloaded` when rows lie in a segment that cannot be closed yet, and when many are being read.
    func read(_ search: some RowSearch, _ ticket: UInt64) throws(ChangesError) {
        // The housekeeper has other work.
        guard reading.count < Self.mostReadings else { throw .overloaded }
        let newest = try newestRows()
        let end = log.activeAfter
        let (reader, outbox, wake) = (log.reader, versionsRead, self.wake)
        reading[ticket] = search
        Self.readNext(log.segmentNumbers(after: 0)[...], search, reader, housekeeper) { error in
            var error = error
            if error == nil { error = search.take(newest, after: end) }
            search.finish()
            outbox.append((ticket, error))
            wake()
        }
    }

    /// The rows that no closed segment has.
    private func newestRows() throws(ChangesError) -> [ChangeChunk] {
        guard log.recent.after <= log.activeAfter else { throw notClosed() }
        return log.recent.chunks(after: log.activeAfter)
    }

    /// One segment a job, so that what the housekeeper has to do besides comes in between.
    private static func readNext(
        _ numbers: ArraySlice<Int>, _ search: some RowSearch, _ reader: SegmentReader, _ housekeeper: Housekeeper,
        _ end: @escaping @Sendable (QueryError?) -> Void
    ) {
        housekeeper.submit {
            guard !search.mustStop else { return end(.engine(.cancelled)) }
            guard let number = numbers.first else { return end(nil) }
            do throws(StorageFault) { try reader.read(search, number) } catch {
                if case .database(let cause, _) = error, cause.isBusy { return end(.engine(.overloaded)) }
                if error.isWant { return end(.engine(.overloaded)) }
                // Rows that cannot be read are missing, and those behind them say so.
            }
            readNext(numbers.dropFirst(), search, reader, housekeeper, end)
        }
    }

    /// The readings that have ended, with a result or an error; nil if none has.
    func takeVersions() -> [QueryAnswer]? {
        guard let read = versionsRead.take() else { return nil }
        return read.compactMap { ticket, error in
            reading.removeValue(forKey: ticket).map { QueryAnswer(ticket: ticket, query: $0, error: error) }
        }
    }

    /// The daemon stops: what is being read ends soon.
    func stopReading() { for search in reading.values { search.stop() } }

    /// Ends the reading of a ticket soon; it is answered.
    /// - Returns: whether there is one.
    func cancel(_ ticket: UInt64) -> Bool {
        reading[ticket]?.stop()
        return reading[ticket] != nil
    }
}

extension RowSearch {
    /// Rows that follow those of the last segment, which ends with the revision `end`.
    fileprivate func take(_ chunks: [ChangeChunk], after end: UInt64) -> QueryError? {
        do throws(StorageFault) {
            // The last segments may have been let go of meanwhile, and there may be no row to say so.
            try take(Bytes(), rev: end, previous: end, at: 0)
            for chunk in chunks { try take(chunk) }
        } catch { return .engine(.overloaded) }
        return nil
    }

    private func take(_ chunk: ChangeChunk) throws(StorageFault) {
        var previous = chunk.after
        for (position, row) in chunk.rows.enumerated() {
            if row.rev > reached {
                try take(chunk.records(position), rev: row.rev, previous: previous, at: row.at)
            }
            previous = row.rev
        }
    }
}
