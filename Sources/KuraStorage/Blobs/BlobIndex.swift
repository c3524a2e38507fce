import KuraBytes
import Sodium

/// Where a row of the index lies; `nowhere` for none.
typealias BlobPlace = Int32
let nowhere: BlobPlace = -1

/// Who stands beside a blob in a list.
struct BlobLinks: BitwiseCopyable {
    var next = nowhere
    var previous = nowhere
}

/// A blob as the index has it.
struct BlobRow: BitwiseCopyable {
    /// Stands for its name, which is in the table only.
    var name: LookupHash
    /// Its row in the table.
    var id: Int64
    var namespace: Int32
    var contentType: Int32
    var content: BlobPlace
    var createdAt: Int64
    var expiresAt: Int64
    /// The blob that it is a variant of, and of its own variants the first.
    var parent = nowhere
    var firstVariant = nowhere
    /// Those of the same parent beside it.
    var variants = BlobLinks()
    /// Others with the same content.
    var users = BlobLinks()
    /// Those of its namespace that came after and before it.
    var queue = BlobLinks()
    /// It was read since the hand of eviction came by.
    var isVisited = false
    var isThere = true
}

/// A content as the index has it, once however many blobs have it.
struct BlobContentRow: BitwiseCopyable {
    var digest: ContentDigest
    var bytes: Int
    var firstUser = nowhere
    var isFile: Bool
    /// An unclean stop came after it was written: it is hashed before it is shown.
    var isDoubtful = false
    /// The write that puts it into the table; a small one stays in memory until that is done, which is told by 0.
    var write: UInt32 = 0
    /// It was read since the hand of the memory came by.
    var isVisited = false
    /// Its place in memory.
    var memory: Int32 = -1
    var isThere = true
}

/// The names of all blobs and what they lead to: rows in two arrays, linked by their places, and found by hashes in many small tables, each
/// of which is so small that its growing does not hold up a turn. Knows no files, no table, no time. Belongs to the loop.
///
/// A row takes 104 bytes and a content's 72, with some 30 more each for finding them: 200 MB for a million blobs.
final class BlobIndex {
    private(set) var rows = GrowingRow<BlobRow>()
    private(set) var contents = GrowingRow<BlobContentRow>()
    private var freeRows = GrowingRow<BlobPlace>()
    private var freeContents = GrowingRow<BlobPlace>()
    private var byName = [[LookupHash: BlobPlace]](repeating: [:], count: shards)
    private var byDigest = [[ContentDigest: BlobPlace]](repeating: [:], count: shards)
    private(set) var count = 0
    private(set) var contentCount = 0
    /// Bytes of all contents, each once.
    private(set) var bytes = 0

    private static let shards = 512
    private static func shard(_ hash: UInt64) -> Int { Int(truncatingIfNeeded: hash) & (shards - 1) }

    // MARK: Reading

    func find(_ name: LookupHash) -> BlobPlace? { byName[Self.shard(name.high)][name] }

    func find(_ digest: ContentDigest) -> BlobPlace? { byDigest[Self.shard(digest.word)][digest] }

    subscript(place: BlobPlace) -> BlobRow {
        get { rows[Int(place)] }
        set { rows[Int(place)] = newValue }
    }

    /// Places that there are, those of rows that are gone too.
    var places: Range<BlobPlace> { 0..<BlobPlace(rows.count) }

    func content(_ place: BlobPlace) -> BlobContentRow { contents[Int(place)] }

    func content(of place: BlobPlace) -> BlobContentRow { contents[Int(rows[Int(place)].content)] }

    func setContent(_ place: BlobPlace, _ body: (inout BlobContentRow) -> Void) { body(&contents[Int(place)]) }

    /// Calls `body` for each variant of a blob, which it may remove.
    func forEachVariant(of place: BlobPlace, _ body: (BlobPlace) -> Void) {
        var variant = self[place].firstVariant
        while variant != nowhere {
            let next = self[variant].variants.next
            body(variant)
            variant = next
        }
    }

    /// Calls `body` for each blob with this content, which it may remove, until it returns false.
    func forEachUser(of content: BlobPlace, _ body: (BlobPlace) -> Bool) {
        var user = self.content(content).firstUser
        while user != nowhere {
            let next = self[user].users.next
            guard body(user) else { return }
            user = next
        }
    }

    // MARK: Contents

    /// The content's place, which is made when there is none.
    func findOrInsert(_ digest: ContentDigest, bytes: Int, isFile: Bool) -> (place: BlobPlace, isNew: Bool) {
        if let place = find(digest) { return (place, false) }
        let row = BlobContentRow(digest: digest, bytes: bytes, isFile: isFile)
        let place = Self.place(row, in: &contents, &freeContents)
        byDigest[Self.shard(digest.word)][digest] = place
        contentCount += 1
        self.bytes += bytes
        return (place, true)
    }

    /// Forgets a content that no blob has.
    func removeContent(_ place: BlobPlace) {
        let row = content(place)
        precondition(row.firstUser == nowhere && row.isThere, "a content that is used, or gone")
        byDigest[Self.shard(row.digest.word)][row.digest] = nil
        setContent(place) { $0.isThere = false }
        freeContents.append(place)
        contentCount -= 1
        bytes -= row.bytes
    }

    // MARK: Blobs

    /// Adds a blob whose name is not there.
    /// `parent`: what it is a variant of.
    func insert(_ row: BlobRow, parent: BlobPlace?) -> BlobPlace {
        let place = Self.place(row, in: &rows, &freeRows)
        byName[Self.shard(row.name.high)][row.name] = place
        count += 1
        link(place, to: row.content)
        guard let parent else { return place }
        let first = self[parent].firstVariant
        self[place].parent = parent
        self[place].variants.next = first
        if first != nowhere { self[first].variants.previous = place }
        self[parent].firstVariant = place
        return place
    }

    /// Removes a blob. The place of one with variants stays taken until they have been removed, too (`free`); none of them is found any more.
    /// - Returns: its content's place, when nobody else has it.
    func remove(_ place: BlobPlace) -> BlobPlace? {
        let row = self[place]
        precondition(row.isThere, "a blob that is gone")
        if row.parent != nowhere {
            if row.variants.previous != nowhere {
                self[row.variants.previous].variants.next = row.variants.next
            } else {
                self[row.parent].firstVariant = row.variants.next
            }
            if row.variants.next != nowhere { self[row.variants.next].variants.previous = row.variants.previous }
        }
        byName[Self.shard(row.name.high)][row.name] = nil
        count -= 1
        let content = unlink(place)
        self[place].isThere = false
        if row.firstVariant == nowhere { freeRows.append(place) }
        return content
    }

    /// The last variant of a blob that is gone has been removed.
    func free(_ place: BlobPlace) {
        precondition(!self[place].isThere && self[place].firstVariant == nowhere, "a blob with variants, or there")
        freeRows.append(place)
    }

    /// Whether it is a variant of what is gone.
    func isOrphan(_ place: BlobPlace) -> Bool {
        let parent = self[place].parent
        return parent != nowhere && !self[parent].isThere
    }

    /// Gives a blob another content.
    /// - Returns: the place of the content that it had, when nobody else has that.
    func setContent(of place: BlobPlace, to content: BlobPlace) -> BlobPlace? {
        let old = unlink(place)
        self[place].content = content
        link(place, to: content)
        return old == content ? nil : old
    }

    private func link(_ place: BlobPlace, to content: BlobPlace) {
        let first = self.content(content).firstUser
        self[place].users.previous = nowhere
        self[place].users.next = first
        if first != nowhere { self[first].users.previous = place }
        setContent(content) { $0.firstUser = place }
    }

    private func unlink(_ place: BlobPlace) -> BlobPlace? {
        let row = self[place]
        if row.users.previous != nowhere {
            self[row.users.previous].users.next = row.users.next
        } else {
            setContent(row.content) { $0.firstUser = row.users.next }
        }
        if row.users.next != nowhere { self[row.users.next].users.previous = row.users.previous }
        return content(row.content).firstUser == nowhere ? row.content : nil
    }

    private static func place<Row: BitwiseCopyable>(
        _ row: Row, in rows: inout GrowingRow<Row>, _ free: inout GrowingRow<BlobPlace>
    ) -> BlobPlace {
        guard free.count > 0 else {
            rows.append(row)
            return BlobPlace(rows.count - 1)
        }
        let place = free[free.count - 1]
        free.truncate(to: free.count - 1)
        rows[Int(place)] = row
        return place
    }
}
