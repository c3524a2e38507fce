import Glibc
import KuraBytes
import KuraStorage
import Sodium
import SQLite

/// What is no table: segments of the log, contents by their digests, and files that belong to nothing.
extension StorageCheck {
    // MARK: The log

    /// Reads a copy of each closed segment: its rows, and whether each change comes next to the one before it.
    func lookAtLog() throws(StorageFault) {
        let lost = try knownLost()
        let draft = try DraftDirectory.make(in: configuration.temporaryDirectory, prefix: "check-")
        defer { draft.discard() }
        let scratch = draft.path
        var newest: UInt64 = 0
        for segment in closed.sorted(by: { ($0.firstRev, $0.number) < ($1.firstRev, $1.number) }) where goesOn {
            let directory = configuration.logDirectory
            let paths = LogFiles.paths(segment.number, in: directory)
            let names = paths.map { String($0.split(separator: "/").last ?? "") }
            let name = "log/" + (names.last ?? "\(segment.number)")
            defer { for name in names { FileSystem.tryToRemove(scratch + "/" + name) } }
            do throws(StorageFault) {
                for (path, name) in zip(paths, names) { try FileSystem.copy(path, to: scratch + "/" + name) }
                try look(at: try LogFiles.open(segment.number, in: scratch), listed: segment, name, lost, &newest)
            } catch {
                // Retention lets segments go while this is looking.
                guard LogFiles.exists(segment.number, in: directory), !error.isFull else {
                    if error.isFull { throw error }
                    continue
                }
                note(.segment, name, error.description)
            }
            counts.segments += 1
            advance(segment.bytes)
        }
        let last = closed.map(\.lastRev).max() ?? 0
        if last > 0, last < activeAfter, !lost.contains(last + 1...activeAfter) {
            note(.segment, "log", "revisions \(last + 1) to \(activeAfter) are in no segment")
        }
    }

    /// Revisions that are missing, and told of.
    private func knownLost() throws(StorageFault) -> RevisionSet {
        do throws(SQLiteError) {
            let connection = try Connection(path: configuration.tablesPath, mode: .readOnly)
            defer { connection.close() }
            try connection.setBusyTimeout(milliseconds: 5000)
            return try RevisionSet(lostIn: connection)
        } catch { throw .database(error, file: configuration.tablesPath) }
    }

    private func look(
        at segment: any ReadableSegment, listed: Log.Closed, _ name: String, _ lost: RevisionSet, _ newest: inout UInt64
    ) throws(StorageFault) {
        var reached = newest
        var changes = 0
        var hole: String?
        if let damage = segment.damages.first {
            note(
                .segment, name,
                "it is not what was written from byte \(damage.bytes.lowerBound) to \(damage.bytes.upperBound - 1)")
        }
        try segment.someRows(after: 0) { (row) throws(StorageFault) in
            let rev = row.rev
            var offset = 0
            var inRow: UInt64 = 0
            while let record = try LogRecord.next(in: row.records, at: &offset) {
                changes += 1
                inRow = max(inRow, record.rev)
                // Copies of a recovery have what others have as well.
                guard record.rev > reached else { continue }
                if reached > 0, record.rev != reached + 1, !RelaxedDurability.raises(record, from: reached),
                    !lost.contains(reached + 1...record.rev - 1), hole == nil
                {
                    hole = "revision \(record.rev) follows \(reached)"
                }
                reached = record.rev
            }
            if inRow > rev, hole == nil { hole = "a row of revision \(rev) has a change of revision \(inRow)" }
            return goesOn
        }
        counts.changes += changes
        if let hole { note(.segment, name, hole) }
        if goesOn, segment.lastRev < listed.lastRev {
            note(.segment, name, "it ends with revision \(segment.lastRev), and had \(listed.lastRev)")
        }
        newest = max(newest, reached)
    }

    // MARK: Contents

    func lookAtAttachments() throws(StorageFault) {
        let path = configuration.tablesPath
        do throws(SQLiteError) {
            let connection = try Connection(path: path, mode: .readOnly)
            try connection.setBusyTimeout(milliseconds: 5000)
            try look(atContentsOf: connection)
        } catch { throw .database(error, file: path) }
    }

    private func look(atContentsOf connection: Connection) throws(SQLiteError) {
        var uses: [(digest: ContentDigest, count: Int64)] = []
        do throws(SQLiteError) {
            let select = try connection.prepare("SELECT digest, uses FROM contents")
            while try select.step() {
                if let digest = ContentDigest(digits: select.bytes(0)) { uses.append((digest, select.int64(1))) }
            }
        } catch {
            // That table has been told of; without it nobody can tell who needs what.
            guard error.isDamage else { throw error }
            return skip("attachments: the table of their contents cannot be read")
        }
        for (digest, count) in uses where count > 0 && goesOn {
            counts.attachments += 1
            guard let problem = try? problem(of: AttachmentFiles.path(digest, configuration), digest) else { continue }
            // It may have gone meanwhile, with its document.
            if try self.uses(of: digest, connection) ?? 0 > 0 { note(.attachment, digest.text, problem) }
        }
        try forEachContent(below: configuration.attachmentsDirectory) { (digest, place) throws(SQLiteError) in
            // In this order: a pin ends when the tables know.
            guard !attachmentFiles.isPinned(digest), try self.uses(of: digest, connection) == nil,
                FileSystem.exists(place)
            else { return }
            note(.orphan, "durable/attachments/" + Self.name(digest), "no document has this content")
        }
    }

    private func uses(of digest: ContentDigest, _ connection: Connection) throws(SQLiteError) -> Int64? {
        let select = try connection.prepare("SELECT uses FROM contents WHERE digest = ?1")
        try select.bind(1, text: digest.text)
        return try select.step() ? select.int64(0) : nil
    }

    /// Every large blob's file against its digest. Damaged ones are forgotten, as when somebody reads them.
    func lookAtBlobs() {
        var damaged: [ContentDigest] = []
        var unheld: [(ContentDigest, String)] = []
        forEachContent(below: configuration.blobsDirectory) { digest, place in
            counts.blobs += 1
            if !blobFiles.isHeld(digest) { unheld.append((digest, place)) }
            guard let problem = try? problem(of: place, digest), FileSystem.exists(place) else { return }
            note(.blob, digest.text, problem + "; it is forgotten")
            damaged.append(digest)
        }
        if !damaged.isEmpty { cacheThread.tell(damaged: damaged) }
        // Soon after a start nobody can tell.
        guard blobFiles.isLoaded else {
            return skip("blobs' contents that belong to nothing: the cache was still being read")
        }
        // What was on its way in or out when it was met is not any more.
        for (digest, place) in unheld where !blobFiles.isHeld(digest) && FileSystem.exists(place) {
            note(.orphan, "cache/blobs/" + Self.name(digest), "no blob has this content; a start removes it")
        }
    }

    private static func name(_ digest: ContentDigest) -> String {
        let digits = digest.text
        return "\(digits.prefix(2))/\(digits.dropFirst(2))"
    }

    /// Calls `body` for each file that is named as a content.
    private func forEachContent<E: Error>(
        below directory: String, _ body: (ContentDigest, String) throws(E) -> Void
    ) throws(E) {
        for half in (try? FileSystem.names(in: directory).sorted()) ?? [] where goesOn {
            let inner = directory + "/" + half
            guard FileSystem.isDirectory(inner) else { continue }
            for name in (try? FileSystem.names(in: inner)) ?? [] where goesOn {
                guard let digest = Array((half + name).utf8).withBytes({ ContentDigest(digits: $0) }) else { continue }
                try body(digest, inner + "/" + name)
            }
        }
    }

    /// - Returns: what is wrong with a content's file; nil when it is what its name says.
    private func problem(of place: String, _ digest: ContentDigest) throws(StorageFault) -> String? {
        guard FileSystem.exists(place) else { return "its file is missing" }
        let descriptor: Int32
        do throws(StorageFault) { descriptor = try FileSystem.openRegular(place) } catch {
            if error.isWant { throw error }
            guard FileSystem.exists(place) else { return "its file is missing" }
            return FileSystem.isRegular(place) ? "its file cannot be read: \(error)" : "no regular file is in its place"
        }
        defer { close(descriptor) }
        var hash = GenericHash()
        var piece = ByteBuffer(capacity: 256 << 10)
        var offset = 0
        while goesOn {
            piece.removeAll()
            let count: Int
            do throws(StorageFault) {
                count = try FileSystem.read(descriptor, atMost: 256 << 10, at: offset, into: &piece, path: place)
            } catch { return "its file cannot be read: \(error)" }
            if count == 0 { break }
            hash.update(piece.bytes)
            offset += count
            advance(count)
        }
        guard goesOn else { return nil }
        return ContentDigest(hash.finish()) == digest ? nil : "its bytes are not what its digest says"
    }

    // MARK: Orphans

    func lookForOrphans() throws(StorageFault) {
        let known: [(directory: String, path: String, isKnown: (String) -> Bool)] = [
            (
                "durable", configuration.durableDirectory,
                { $0 == "attachments" || $0 == "layout" || $0.hasPrefix("kura.sqlite") }
            ),
            ("log", configuration.logDirectory, { LogFiles.isOurs($0) }),
            (
                "cache", configuration.cacheDirectory,
                { name in
                    name == "blobs" || name == "clean"
                        || ["", "-wal", "-shm", "-journal"].contains { name.hasSuffix(".sqlite" + $0) }
                }
            ),
        ]
        for (directory, path, isKnown) in known {
            for name in try FileSystem.names(in: path).sorted() where !isKnown(name) {
                note(.orphan, directory + "/" + name, "the daemon has no such file")
            }
        }
    }
}
