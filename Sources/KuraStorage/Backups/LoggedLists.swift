import KuraBytes

/// Lists of attachments that the changes of a log come to, and which of their documents are there: a list is changed together with its
/// document, in one revision.
struct LoggedLists {
    struct List {
        var rev: UInt64
        var isLive: Bool
        var attachments: [Attachment]
    }

    private struct Document {
        var rev: UInt64
        var isLive: Bool
    }

    /// By collection and id, a zero between them.
    private(set) var lists: [[UInt8]: List] = [:]
    /// Of all documents that are changed: nothing is kept of them but this.
    private var documents: [UInt64: Document] = [:]
    /// When collections were dropped.
    private var dropped: [[UInt8]: UInt64] = [:]
    private let seed = UInt64.random(in: 0...UInt64.max)

    private func hash(_ name: [UInt8]) -> UInt64 { name.withBytes { Hash.bytes($0, seed: seed) } }

    /// Takes a change in the order of the log.
    mutating func note(_ record: LogRecord) {
        guard record.store == .documents || record.store == .attachments else { return }
        if record.isDrop {
            let scope = Array(record.scope)
            if record.store == .documents { dropped[scope] = record.rev }
            lists = lists.filter { !$0.key.starts(with: scope + [0]) }
            return
        }
        let name = Array(record.scope) + [0] + Array(record.key)
        if record.store == .documents {
            documents[hash(name)] = Document(rev: record.rev, isLive: !record.isTombstone)
        } else {
            // A tombstone without a text keeps what there was, for whoever brings the document back.
            lists[name] = List(
                rev: record.rev, isLive: !record.isTombstone,
                attachments: record.value.isEmpty
                    ? lists[name]?.attachments ?? [] : AttachmentList(record.value).attachments)
        }
    }

    /// What they name, those of deleted documents too, each once for each size that is said of it.
    var contents: [Attachment] {
        var seen: [ContentDigest: Set<Int>] = [:]
        return lists.values.flatMap(\.attachments).filter { seen[$0.digest, default: []].insert($0.bytes).inserted }
    }

    /// The attachments with these contents, as `collection/id/name`, in the order of these.
    func names(of contents: Set<ContentDigest>) -> [String] {
        lists.flatMap { (name, list) in
            list.attachments.filter { contents.contains($0.digest) }.map { attachment in
                Self.place(name) + "/" + attachment.name.withBytes { ShownName.text($0) }
            }
        }
        .sorted()
    }

    private static func place(_ name: [UInt8]) -> String {
        name.split(separator: 0, maxSplits: 1).map { Array($0).withBytes { ShownName.text($0) } }
            .joined(separator: "/")
    }

    /// Why they are not what a daemon writes: the first list, by its revision, whose document is not there; nil when there is none.
    var problem: String? {
        var first: (rev: UInt64, name: [UInt8])?
        for (name, list) in lists where list.isLive && list.rev < first?.rev ?? .max {
            let scope = Array(name.prefix { $0 != 0 })
            let document = documents[hash(name)]
            let isThere = document.map { $0.isLive && $0.rev >= dropped[scope] ?? 0 } ?? false
            if !isThere { first = (list.rev, name) }
        }
        guard let first else { return nil }
        let place = Self.place(first.name)
        return "the change of revision \(first.rev) (attachments/\(place)) is not what a daemon writes: "
            + "it lists attachments of a document that is not there"
    }
}
