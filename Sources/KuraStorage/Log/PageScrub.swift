import Glibc
import KuraBytes
import SQLite

/// Zeroes what the pages of a tree have between their cells: bytes that no query ever reads.
///
/// `secure_delete` zeroes a cell that is removed and a page that is freed. It does not when a page's cells are laid out anew because
/// neighbours are balanced: what stood there before stays in the gap, a copy of a row that may have gone on to another page. So what is to be
/// gone from the file is looked for there. A page is: a header of 8 or 12 bytes, the offsets of its cells (two bytes each), the gap, and the
/// cells up to the end, with free blocks among them, each of which begins with the next one's offset and its own size.
///
/// On the fold thread, while the WAL is empty: the file is all there is, and nobody else writes to it. Readers never look at what is
/// overwritten. Whoever has pages in a cache of its own forgets them afterwards (`Connection.releaseMemory`).
///
/// A walk may stop after a while and be begun again when the tables were written to meanwhile. What leaves have been looked at is
/// remembered by their numbers: who has written says which pages those are (`forget`), since a page's remains come along with it wherever it is
/// written to. Inner pages, a hundredth of all, are looked at each time.
///
/// Source: https://www.sqlite.org/fileformat2.html#b_tree_pages
struct PageScrub {
    private let connection: Connection
    let pageSize: Int
    private var pages: Int
    private let journal: ScrubJournal?
    /// Pages that had remains, as they are to be.
    private var found: [(number: Int, bytes: [UInt8])] = []
    /// Leaves that have been looked at: a bit a page.
    private var clean: [UInt64] = []
    private var deadline: Deadline?
    private var hasAdvanced = false
    /// The walk has stopped before its end.
    private(set) var isPaused = false
    /// Bytes that were not zero.
    private(set) var zeroed = 0
    /// Pages that were looked at.
    private(set) var looked = 0

    /// Leaves and subtrees beside what is looked for that are looked at as well: rows move to neighbours.
    private static let neighbours = 2
    /// Deeper than any tree.
    private static let deepest = 20
    /// Pages that are overwritten at once, about.
    private static let mostPages = 256

    /// `journal`: has the pages while they are overwritten; nil when a page may be torn.
    init(_ connection: Connection, journal: ScrubJournal? = nil) throws(SQLiteError) {
        self.connection = connection
        self.journal = journal
        pageSize = Int(try connection.scalar("PRAGMA page_size") ?? 0)
        pages = Int(try connection.scalar("PRAGMA page_count") ?? 0)
    }

    /// Begins a walk, or goes on with one.
    /// `deadline`: it stops then, when it has looked at something new.
    mutating func begin(until deadline: Deadline) throws(SQLiteError) {
        pages = Int(try connection.scalar("PRAGMA page_count") ?? 0)
        (self.deadline, hasAdvanced, isPaused) = (deadline, false, false)
    }

    /// Pages have been written to: they are to be looked at again. nil: nobody knows which.
    mutating func forget(_ written: Set<Int>?) {
        guard let written else { return clean.removeAll() }
        for page in written where page >> 6 < clean.count { clean[page >> 6] &= ~(1 << UInt64(page & 63)) }
    }

    private func isClean(_ page: Int) -> Bool {
        page >> 6 < clean.count && clean[page >> 6] & 1 << UInt64(page & 63) != 0
    }

    private mutating func noteClean(_ page: Int) {
        while page >> 6 >= clean.count { clean.append(0) }
        clean[page >> 6] |= 1 << UInt64(page & 63)
    }

    /// A table's tree, the one that its rows lie in. What is overwritten is synced.
    /// `rows`: only around these row numbers; nil for all of it.
    mutating func scrub(table: StaticString, rows: [ClosedRange<Int64>]? = nil) throws(SQLiteError) {
        let root = try connection.scalar(
            "SELECT rootpage FROM sqlite_schema WHERE type = 'table' AND name = '\(table)'")
        do throws(SQLiteError) {
            if let root { try scrub(page: Int(root), rows, depth: 0) }
            try overwrite()
        } catch {
            found.removeAll()
            clean.removeAll()
            throw error
        }
    }

    private mutating func overwrite() throws(SQLiteError) {
        guard !found.isEmpty else { return }
        try journaled { (journal) throws(StorageFault) in try journal.write(found) }
        for (number, bytes) in found {
            try bytes.withBytes { (bytes) throws(SQLiteError) in
                try connection.overwriteFile(bytes, at: (number - 1) * pageSize)
            }
        }
        try connection.syncFile()
        try journaled { (journal) throws(StorageFault) in try journal.remove() }
        found.removeAll()
    }

    private func journaled(_ body: (ScrubJournal) throws(StorageFault) -> Void) throws(SQLiteError) {
        guard let journal else { return }
        do throws(StorageFault) { try body(journal) } catch { throw .injected(error.isFull ? ENOSPC : EIO) }
    }

    private mutating func scrub(page: Int, _ rows: [ClosedRange<Int64>]?, depth: Int) throws(SQLiteError) {
        guard page >= 1, page <= pages, depth < Self.deepest else { throw Self.damaged }
        var buffer = ByteBuffer(capacity: pageSize)
        let start = (page - 1) * pageSize
        try connection.readFile(pageSize, at: start, into: &buffer)
        looked += 1
        guard let layout = PageLayout(buffer.bytes, isFirst: page == 1) else { throw Self.damaged }
        if layout.unused.contains(where: { !buffer.bytes.isZero($0.lowerBound, count: $0.count) }) {
            found.append((page, zeroing(layout.unused, of: buffer.bytes)))
        }
        guard let children = layout.children(of: buffer.bytes) else {
            noteClean(page)
            hasAdvanced = true
            return
        }
        var wanted = Set(rows == nil ? Array(children.indices) : [])
        for range in rows ?? [] {
            let first = children.firstIndex { $0.last >= range.lowerBound } ?? children.count - 1
            let last = children.firstIndex { $0.last >= range.upperBound } ?? children.count - 1
            for index in max(0, first - Self.neighbours)...min(children.count - 1, last + Self.neighbours) {
                wanted.insert(index)
            }
        }
        for index in wanted.sorted() where !isClean(children[index].page) {
            if hasAdvanced, let deadline, deadline.isOver || found.count >= Self.mostPages { isPaused = true }
            if isPaused { return }
            try scrub(page: children[index].page, rows, depth: depth + 1)
        }
    }

    private mutating func zeroing(_ unused: [Range<Int>], of page: Bytes) -> [UInt8] {
        var bytes = Array(page)
        for place in unused.joined() where bytes[place] != 0 {
            bytes[place] = 0
            zeroed += 1
        }
        return bytes
    }

    private static var damaged: SQLiteError {
        SQLiteError(extendedCode: 11, message: "a page is not what its tree says")
    }
}

/// Where a tree's page has nothing.
struct PageLayout {
    /// Ranges that belong to no cell.
    private(set) var unused: [Range<Int>] = []
    private var kind: UInt8
    private var cells: [Int] = []
    private var rightmost = 0

    private static let interiorIndex: UInt8 = 2
    private static let interiorTable: UInt8 = 5

    /// nil when it is no page of a tree.
    init?(_ page: Bytes, isFirst: Bool) {
        func number(_ offset: Int) -> Int { Int(page[offset]) << 8 | Int(page[offset + 1]) }
        let header = isFirst ? 100 : 0
        kind = page[header]
        guard [Self.interiorIndex, Self.interiorTable, 10, 13].contains(kind) else { return nil }
        let isInterior = kind < 10
        let offsets = header + (isInterior ? 12 : 8)
        let count = number(header + 3)
        // A page of 65,536 bytes that is empty says 0.
        let content = number(header + 5) == 0 ? page.count : number(header + 5)
        guard offsets + 2 * count <= content, content <= page.count else { return nil }
        unused.append(offsets + 2 * count..<content)
        for index in 0..<count {
            let cell = number(offsets + 2 * index)
            guard cell >= content, cell + 4 <= page.count else { return nil }
            cells.append(cell)
        }
        var block = number(header + 1)
        while block != 0 {
            guard block >= content, block + 4 <= page.count else { return nil }
            let (next, size) = (number(block), number(block + 2))
            guard size >= 4, block + size <= page.count, next == 0 || next > block else { return nil }
            if size > 4 { unused.append(block + 4..<block + size) }
            block = next
        }
        if isInterior { rightmost = number(header + 8) << 16 | number(header + 10) }
    }

    /// The pages below, and the greatest row number in each where the tree is one of rows; nil for a leaf.
    func children(of page: Bytes) -> [(page: Int, last: Int64)]? {
        guard kind == Self.interiorIndex || kind == Self.interiorTable else { return nil }
        var children: [(page: Int, last: Int64)] = []
        for cell in cells {
            let child = (0..<4).reduce(0) { $0 << 8 | Int(page[cell + $1]) }
            var last = Int64.max
            if kind == Self.interiorTable { last = Self.rowNumber(page, at: cell + 4) }
            children.append((child, last))
        }
        children.append((rightmost, .max))
        return children
    }

    /// A number of up to nine bytes, seven bits in each but the ninth, the highest first.
    private static func rowNumber(_ page: Bytes, at start: Int) -> Int64 {
        var value: UInt64 = 0
        for index in 0..<9 where start + index < page.count {
            let byte = page[start + index]
            if index == 8 { return Int64(bitPattern: value << 8 | UInt64(byte)) }
            value = value << 7 | UInt64(byte & 0x7F)
            if byte & 0x80 == 0 { break }
        }
        return Int64(bitPattern: value)
    }
}
