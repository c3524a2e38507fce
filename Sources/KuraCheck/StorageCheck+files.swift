import Glibc
import KuraBytes
import KuraStorage
import Sodium
import SQLite

/// What is no table: segments of the log, contents by their digests, and files that belong to nothing.
extension StorageCheck {
    // MARK: The log

    func lookAtLog() throws(StorageFault) {
        var look = LogLook(
            closed, activeAfter: activeAfter, retired: retired, in: configuration.logDirectory, lost: try knownLost(),
            goesOn: { self.goesOn })
        try look.run { advance($0) }
        (counts.segments, counts.changes) = (look.segments, look.changes)
        for problem in look.problems { note(.segment, problem.place, problem.text) }
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
            let place = AttachmentFiles.path(digest, configuration)
            guard (try? problem(of: place, digest)) != nil else { continue }
            // It may have gone with its document, and come again with another: it is looked at once more while it stays where it is.
            let problem = try attachmentFiles.keeping(digest) { () throws(SQLiteError) -> String? in
                guard try self.uses(of: digest, connection) ?? 0 > 0 else { return nil }
                return try? self.problem(of: place, digest)
            }
            if let problem { note(.attachment, digest.text, problem) }
        }
        try forEachContent(below: configuration.attachmentsDirectory) { (digest, _) throws(SQLiteError) in
            let isOrphan = try attachmentFiles.isOrphan(digest) { () throws(SQLiteError) -> Bool in
                try self.uses(of: digest, connection) != nil
            }
            guard isOrphan else { return }
            note(.orphan, "durable/attachments/" + Self.name(digest), "no document has this content")
        }
    }

    private func uses(of digest: ContentDigest, _ connection: Connection) throws(SQLiteError) -> Int64? {
        let select = try connection.prepare("SELECT uses FROM contents WHERE digest = ?1")
        try select.bind(1, text: digest.text)
        return try select.step() ? select.int64(0) : nil
    }

    /// Every large blob's file against its digest. Damaged ones, and those that are gone, are forgotten, as when somebody reads them.
    func lookAtBlobs() {
        var damaged: [ContentDigest] = []
        forEachContent(below: configuration.blobsDirectory) { digest, place in
            counts.blobs += 1
            if blobFiles.isOrphan(digest) {
                note(.orphan, "cache/blobs/" + Self.name(digest), "no blob has this content; a start removes it")
            }
            guard let problem = try? problem(of: place, digest), problem != Self.missing else { return }
            note(.blob, digest.text, problem + "; it is forgotten")
            damaged.append(digest)
        }
        for digest in blobFiles.isLoaded ? blobFiles.missing() : [] where goesOn {
            note(.blob, digest.text, Self.missing + "; it is forgotten")
            damaged.append(digest)
        }
        if !damaged.isEmpty { cacheThread.tell(damaged: damaged) }
        // Soon after a start nobody can tell.
        if !blobFiles.isLoaded { skip("blobs' contents that belong to nothing: the cache was still being read") }
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

    private static let missing = "its file is missing"

    /// - Returns: what is wrong with a content's file; nil when it is what its name says.
    private func problem(of place: String, _ digest: ContentDigest) throws(StorageFault) -> String? {
        guard FileSystem.exists(place) else { return Self.missing }
        let descriptor: Int32
        do throws(StorageFault) { descriptor = try FileSystem.openRegular(place) } catch {
            if error.isWant { throw error }
            if case .system(errno: ENOENT, call: _, path: _) = error { return Self.missing }
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
