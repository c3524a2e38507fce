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
struct BlobRow: HashedRow {
    /// Stands for its name, which is in the table only.
    var name: LookupHash
    /// Its row in the table.
    var id: Int64
    var namespace: Int32
    var contentType: Int32
    var content: BlobPlace
    var chain: UInt32 = 0
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

    var key: LookupHash { name }
    /// It is keyed.
    static func hash(_ key: LookupHash, _ seed: UInt64) -> UInt64 { key.high }
}

/// A content as the index has it, once however many blobs have it.
struct BlobContentRow: HashedRow {
    var digest: ContentDigest
    var bytes: Int
    var firstUser = nowhere
    /// The write that puts it into the table; a small one stays in memory until that is done, which is told by 0.
    var write: UInt32 = 0
    /// Its place in memory.
    var memory: Int32 = -1
    var chain: UInt32 = 0
    var isFile: Bool
    /// An unclean stop came after it was written: it is hashed before it is shown.
    var isDoubtful = false
    /// It was read since the hand of the memory came by.
    var isVisited = false
    var isThere = true

    var key: ContentDigest { digest }
    /// Whoever chooses contents does not know the seed.
    static func hash(_ key: ContentDigest, _ seed: UInt64) -> UInt64 { Hash.number(key.word, seed: seed) }
}

/// The names of all blobs and what they lead to: rows, linked by their places. Knows no files, no table, no time. Belongs to the loop.
///
/// A row takes 96 bytes and a content's 64, with some five more each for finding them: 170 MB for a million blobs.
final class BlobIndex {
    private var blobs = HashedRows<BlobRow>()
    private var contents = HashedRows<BlobContentRow>()
    var count: Int { blobs.count }
    var contentCount: Int { contents.count }
    /// Bytes of all contents, each once.
    private(set) var bytes = 0

    // MARK: Reading

    func find(_ name: LookupHash) -> BlobPlace? { blobs.find(name) }

    func find(_ digest: ContentDigest) -> BlobPlace? { contents.find(digest) }

    subscript(place: BlobPlace) -> BlobRow {
        get { blobs[place] }
        set { blobs[place] = newValue }
    }

    /// Places that there are, those of rows that are gone too.
    var places: Range<BlobPlace> { blobs.places }

    func content(_ place: BlobPlace) -> BlobContentRow { contents[place] }

    func content(of place: BlobPlace) -> BlobContentRow { contents[blobs[place].content] }

    func setContent(_ place: BlobPlace, _ body: (inout BlobContentRow) -> Void) { body(&contents[place]) }

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
        self.bytes += bytes
        return (contents.insert(BlobContentRow(digest: digest, bytes: bytes, isFile: isFile)), true)
    }

    /// Forgets a content that no blob has.
    func removeContent(_ place: BlobPlace) {
        let row = content(place)
        precondition(row.firstUser == nowhere && row.isThere, "a content that is used, or gone")
        contents.remove(place)
        setContent(place) { $0.isThere = false }
        contents.giveUp(place)
        bytes -= row.bytes
    }

    // MARK: Blobs

    /// Adds a blob whose name is not there.
    /// `parent`: what it is a variant of.
    func insert(_ row: BlobRow, parent: BlobPlace?) -> BlobPlace {
        let place = blobs.insert(row)
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
        blobs.remove(place)
        let content = unlink(place)
        self[place].isThere = false
        if row.firstVariant == nowhere { blobs.giveUp(place) }
        return content
    }

    /// The last variant of a blob that is gone has been removed.
    func free(_ place: BlobPlace) {
        precondition(!self[place].isThere && self[place].firstVariant == nowhere, "a blob with variants, or there")
        blobs.giveUp(place)
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
}
