import KuraBytes
import Sodium

/// Judges the contents of attachments that a file brings, piece by piece as it is read.
///
/// A content comes whole and once: its pieces behind one another, and none of another's between them. Each is named by a list, and each that
/// a list names is there, unless the manifest says that it is left out: one that was damaged where the file was made may have
/// pieces, and what is wrong with them does not matter then. Digests and sizes are kept, no bytes.
final class ContentGuard {
    /// What a list says of a content, and the number of the list's record.
    private struct Named {
        var bytes: Int
        var record: Int
    }

    /// The content whose pieces are coming.
    private struct Coming {
        var digest: ContentDigest
        var total: Int
        var next: Int
        /// The frame of its first piece.
        var part: Int
    }

    /// Lists were left out that could have named a content.
    private let leavesOut: Bool
    private var named: [ContentDigest: Named] = [:]
    /// Lists that say another size of a content than the first one did.
    private var others: [ContentDigest: Named] = [:]
    private var coming: Coming?
    /// Of what has come of it.
    private var hash = GenericHash()
    private var met: Set<ContentDigest> = []
    /// What is wrong with contents that the manifest may leave out.
    private var faults: [ContentDigest: BackupFault] = [:]

    init(leavesOut: Bool = false) { self.leavesOut = leavesOut }

    /// Takes note of what a list of attachments names.
    /// `record`: its number.
    func note(_ list: Bytes, record: Int) {
        for attachment in AttachmentList(list).attachments {
            if let known = named[attachment.digest] {
                guard known.bytes != attachment.bytes, others[attachment.digest] == nil else { continue }
                others[attachment.digest] = Named(bytes: attachment.bytes, record: record)
            } else {
                named[attachment.digest] = Named(bytes: attachment.bytes, record: record)
            }
        }
    }

    /// Takes a piece. `part`: the number of its frame.
    /// Throws: when it is not the one that follows, or when nobody names it.
    func take(_ piece: ContentPiece, part: Int) throws(BackupFault) {
        func unfit(_ reason: String) -> BackupFault {
            .unfitContent(digest: piece.digest.text, part: part, reason: reason)
        }
        if coming?.digest != piece.digest {
            endContent()
            guard leavesOut || named[piece.digest] != nil else { throw unfit("is named by no list of attachments") }
            guard met.insert(piece.digest).inserted else { throw unfit("comes twice") }
            coming = Coming(digest: piece.digest, total: piece.total, next: 0, part: part)
        } else if coming?.next == coming?.total {
            throw unfit("comes twice")
        }
        guard let content = coming else { return }
        guard piece.total == content.total else {
            throw unfit("has \(piece.total) bytes here, and \(content.total) in the piece before")
        }
        guard piece.offset == content.next else {
            throw unfit("goes on at byte \(piece.offset), and byte \(content.next) is the next one")
        }
        guard !piece.bytes.isEmpty || piece.total == 0 else { throw unfit("has a piece without bytes") }
        hash.update(piece.bytes)
        coming?.next += piece.bytes.count
    }

    /// The last piece of a content has come, or none of it will.
    private func endContent() {
        guard let content = coming else { return }
        coming = nil
        var whole = GenericHash()
        swap(&whole, &hash)
        let found = ContentDigest(whole.finish())
        let (digest, text) = (content.digest, content.digest.text)
        guard content.next == content.total else {
            faults[digest] = .unfitContent(
                digest: text, part: content.part,
                reason: "ends behind byte \(content.next) of \(content.total)")
            return
        }
        guard found == digest else {
            faults[digest] = .unfitContent(digest: text, part: content.part, reason: "has other bytes than its digest")
            return
        }
        for said in [named[digest], others[digest]] {
            guard let said, said.bytes != content.total else { continue }
            faults[digest] = Self.fault(said, content.total, "and its content has")
            return
        }
    }

    private static func fault(_ said: Named, _ bytes: Int, _ words: String) -> BackupFault {
        .unfit(
            record: said.record,
            reason: "is not what a daemon writes: it says \(said.bytes) bytes of an attachment, \(words) \(bytes)")
    }

    /// Everything has been read.
    /// - Throws: when a content is wrong or missing that the manifest does not leave out, or when it counts others.
    func finish(_ manifest: BackupManifest) throws(BackupFault) {
        endContent()
        let leftOut = Set(manifest.leftOut.map(\.name))
        func isLeftOut(_ digest: ContentDigest) -> Bool { leftOut.contains(Array(digest.text.utf8)) }
        var whole = 0
        // In the order of the records that name them, so that the same file has the same refusal.
        let ordered = named.sorted {
            $0.value.record != $1.value.record
                ? $0.value.record < $1.value.record : $0.key.text < $1.key.text
        }
        for (digest, said) in ordered {
            if isLeftOut(digest) {
                if let other = others[digest] { throw Self.fault(other, said.bytes, "and a record before it") }
                continue
            }
            if let fault = faults[digest] { throw fault }
            guard met.contains(digest) else {
                throw .unfitContent(digest: digest.text, part: nil, reason: "is not in it")
            }
            whole += 1
        }
        guard !leavesOut, whole != manifest.counts[.attachments] else { return }
        throw .miscounted("attachments", said: manifest.counts[.attachments], found: whole)
    }
}
