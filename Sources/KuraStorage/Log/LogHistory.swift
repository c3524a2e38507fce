import KuraBytes
import SQLite

/// The history that changes belong to. Revisions do not tell it: whatever is restored of one backup goes on from the same revision.
///
/// The tables have it in `meta` (`epoch`, `parentEpoch`, `beganRev`), and each segment of the log in its head. Which segments belong to which tables
/// tells `LogLineage`.
package struct LogHistory: Equatable, Sendable {
    /// Names it.
    var epoch: String
    /// The history that it has come of; empty when it began with nothing.
    var parent = ""
    /// Up to this revision it is what its parent was.
    var began: UInt64 = 0
}

/// In a segment's head.
extension LogHistory {
    private static let textLength = 36
    static let length = 2 * textLength + 8

    func append(to buffer: inout ByteBuffer) {
        for text in [epoch, parent] {
            let text = Array(text.utf8.prefix(Self.textLength))
            buffer.append(text)
            for _ in text.count..<Self.textLength { buffer.append(0) }
        }
        buffer.append(littleEndian: began)
    }

    /// Nil when it names no history. The names are shown to people.
    init?(_ bytes: Bytes) {
        func text(at offset: Int) -> String? {
            let text = Array(bytes.extracting(offset..<offset + Self.textLength)).prefix { $0 != 0 }
            return text.allSatisfy { (0x21...0x7E).contains($0) } ? String(decoding: text, as: UTF8.self) : nil
        }
        guard bytes.count >= Self.length, let epoch = text(at: 0), !epoch.isEmpty,
            let parent = text(at: Self.textLength)
        else { return nil }
        (self.epoch, self.parent) = (epoch, parent)
        began = bytes.littleEndian(2 * Self.textLength, UInt64.self)
    }
}

/// In the tables.
extension LogHistory {
    private static let parentName = "parentEpoch"
    private static let beganName = "beganRev"

    init(in connection: Connection) throws(SQLiteError) {
        let select = try connection.prepare("SELECT value FROM meta WHERE name = ?1")
        func text(_ name: String) throws(SQLiteError) -> String {
            defer { select.reset() }
            try select.bind(1, text: name)
            return try select.step() ? select.text(0) : ""
        }
        epoch = try text("epoch")
        parent = try text(Self.parentName)
        began = UInt64(try text(Self.beganName)) ?? 0
    }

    /// `others`: of which histories the tables have changes besides, and the newest revision of each.
    func write(in connection: Connection, having others: [String: UInt64] = [:]) throws(SQLiteError) {
        let lineage = try LogLineage(in: connection)
        let put = try connection.prepare(
            "INSERT INTO meta(name, value) VALUES(?1, ?2) ON CONFLICT(name) DO UPDATE SET value = ?2")
        for (name, text) in [("epoch", epoch), (Self.parentName, parent)] {
            try put.bind(1, text: name)
            try put.bind(2, text: text)
            try put.run()
        }
        try put.bind(1, text: Self.beganName)
        try put.bind(2, Int64(clamping: began))
        try put.run()
        try lineage.note(others, of: self, in: connection)
    }

    /// The history that goes on from this one as it was at a revision. One that nothing was changed in is passed over.
    func successor(after rev: UInt64) -> LogHistory {
        let isUnchanged = !parent.isEmpty && rev <= began
        return LogHistory(epoch: UUIDv7Generator.random(), parent: isUnchanged ? parent : epoch, began: rev)
    }
}

extension LogHistory {
    /// Whether changes of segments go on from what a backup has: they are of its history, or of those that come of it, one after the other.
    /// Segments of earlier versions do not say what they are of, and are taken.
    ///
    /// `epoch`, `rev`: of the backup.
    /// - Returns: the newest history of them.
    /// - Throws: `refused` with the segment of another history.
    static func newest(
        after epoch: String, _ rev: UInt64, in segments: [any ReadableSegment]
    ) throws(StorageFault) -> String {
        var at = LogHistory(epoch: epoch, began: rev)
        var rest = segments.filter { $0.history.map { $0.epoch != epoch } ?? false }
        while let stray = rest.first {
            let next = rest.compactMap { $0.history }.first { $0.parent == at.epoch && $0.began >= at.began }
            guard let next else {
                throw .refused(
                    "\(stray.path.split(separator: "/").last ?? "") of the log is of the history "
                        + "\(stray.history?.epoch ?? ""), and \(at.epoch == epoch ? "the backup" : "what comes before it") "
                        + "of \(at.epoch), which went another way\(at.came(before: stray.history))")
            }
            let other = segments.first { $0.history?.epoch == at.epoch && $0.lastRev > next.began }
            if let other {
                throw .refused(
                    "\(other.path.split(separator: "/").last ?? "") of the log, of the history \(at.epoch), goes on to "
                        + "revision \(other.lastRev), and the history \(next.epoch), which is in the log too, has left "
                        + "it behind revision \(next.began)")
            }
            at = next
            rest.removeAll { $0.history?.epoch == next.epoch }
        }
        return at.epoch
    }

    /// Where another history has left this one, when that was before what is to be gone on from.
    private func came(before other: LogHistory?) -> String {
        guard let other, other.parent == epoch else { return "" }
        return ": it has left that behind revision \(other.began), before revision \(began)"
    }
}
