import Glibc
import KuraBytes
import SQLite

/// Reads the rows of a tables' file past SQLite: page by page, whatever leads there. What is on a damaged page is passed over, and nothing else
/// is lost with it, as all below a damaged root is for SQLite.
///
/// Pages that are free are told by the pointer map (the file has `auto_vacuum`), so nothing comes back that was deleted. What the WAL has of a page
/// counts. Source: https://www.sqlite.org/fileformat2.html
final class TablePages {
    /// A row of some table or index; which one follows from what its columns are.
    struct Row {
        /// Nil in an index, which a table without row numbers is as well.
        var number: Int64?
        fileprivate(set) var columns: [Column] = []
        fileprivate var payload = Bytes()

        var count: Int { columns.count }

        func integer(_ column: Int) -> Int64? {
            if case .integer(let value) = columns[column] { value } else { nil }
        }

        func text(_ column: Int) -> Bytes? {
            if case .text(let range) = columns[column] { payload.extracting(range) } else { nil }
        }
    }

    enum Column {
        case null, other
        case integer(Int64)
        case text(Range<Int>)
    }

    private static let pageSize = 4096
    private let path: String
    private let file: Int32
    private let wal: Int32
    private let walPages: [Int: Int]
    /// Pages that the file has.
    let count: Int
    /// Pages have checksums, and so many bytes for rows.
    private let isSealed: Bool
    private let usable: Int
    /// The part of the pointer map that was read last.
    private var map = ByteBuffer(capacity: TablePages.pageSize)
    private var mapNumber = 0

    init(_ path: String) throws(StorageFault) {
        self.path = path
        let commits = try WALCommits(path: path + "-wal")
        walPages = commits.pages
        file = try FileSystem.openRegular(path)
        wal = commits.pages.isEmpty ? -1 : try FileSystem.openRegular(path + "-wal")
        // A hole at the end has no rows, however long it is.
        let size = min(FileSystem.size(path), FileSystem.dataEnd(file) ?? .max) / Self.pageSize
        count = commits.pageCount > 0 ? commits.pageCount : size
        // Any page tells: the first may be the damaged one.
        var page = ByteBuffer(capacity: Self.pageSize)
        var isSealed = false
        for number in 1...max(1, min(size, 64)) where !isSealed {
            page.removeAll()
            _ = try? FileSystem.read(
                file, atMost: Self.pageSize, at: (number - 1) * Self.pageSize, into: &page, path: path)
            isSealed = page.count == Self.pageSize && PageSeal.holds(page.bytes, number: number)
        }
        self.isSealed = isSealed
        usable = isSealed ? Self.pageSize - 8 : Self.pageSize
    }

    deinit {
        close(file)
        if wal >= 0 { close(wal) }
    }

    // MARK: Pages

    /// - Returns: false when the page is damaged, or there is none.
    private func read(_ number: Int, into page: inout ByteBuffer) -> Bool {
        guard number > 0, number <= count else { return false }
        page.removeAll()
        // The WAL's own checksums have been looked at.
        if let offset = walPages[number] {
            return (try? FileSystem.read(wal, atMost: Self.pageSize, at: offset, into: &page, path: path))
                == Self.pageSize
        }
        let offset = (number - 1) * Self.pageSize
        guard (try? FileSystem.read(file, atMost: Self.pageSize, at: offset, into: &page, path: path)) == Self.pageSize
        else { return false }
        return !isSealed || PageSeal.holds(page.bytes, number: number)
    }

    /// The page of the pointer map that tells of a page.
    private func mapPlace(_ number: Int) -> Int {
        let covered = usable / 5
        return (number - 2) / (covered + 1) * (covered + 1) + 2
    }

    /// What the pointer map says of a page other than the first and the map's own; nil where the map is damaged.
    private func entry(_ number: Int) -> (kind: UInt8, parent: Int)? {
        let place = mapPlace(number)
        if mapNumber != place {
            guard read(place, into: &map) else {
                mapNumber = 0
                return nil
            }
            mapNumber = place
        }
        let offset = (number - place - 1) * 5
        return (map.bytes[offset], Int(bigEndian32(map.bytes, offset + 1)))
    }

    /// Whether a page belongs to a tree: as its root, or below another. Where the map is damaged, any page may.
    private func isOfTree(_ number: Int) -> Bool {
        if number == 1 { return true }
        if number == mapPlace(number) { return false }
        return entry(number).map { $0.kind == 1 || $0.kind == 5 } ?? true
    }

    /// How many pages of each tree cannot be read, those of long values among them, by the tree's root. Root 0 is told where the pointer map
    /// is damaged.
    func damagedPages() -> [Int: Int] {
        var page = ByteBuffer(capacity: Self.pageSize)
        var damaged: [Int: Int] = [:]
        for number in 1...max(1, count) where number == 1 || number != mapPlace(number) {
            // A page that is free has nothing.
            if number > 1, let kind = entry(number)?.kind, ![1, 3, 4, 5].contains(kind) { continue }
            if !read(number, into: &page) { damaged[root(of: number), default: 0] += 1 }
        }
        return damaged
    }

    /// The root of the tree that a page belongs to; 0 where nothing tells it.
    private func root(of number: Int) -> Int {
        var number = number
        // The pages of a long value are a chain.
        for _ in 0..<count {
            if number == 1 { return 1 }
            guard number > 1, number != mapPlace(number), let entry = entry(number) else { return 0 }
            if entry.kind == 1 { return number }
            number = entry.parent
        }
        return 0
    }

    /// Calls `body` for each row that can be read, in the order of the pages. Rows are good until it returns.
    func each<E: Error>(_ body: (Row) throws(E) -> Void) throws(E) {
        var page = ByteBuffer(capacity: Self.pageSize)
        var payload = ByteBuffer()
        for number in 1...max(1, count) where isOfTree(number) && read(number, into: &page) {
            let bytes = page.bytes
            let head = number == 1 ? 100 : 0
            let kind = bytes[head]
            // Leaves of tables, and all pages of indexes. Pages that lead to a table's leaves have no rows.
            guard kind == 0x0D || kind == 0x0A || kind == 0x02 else { continue }
            let cells = Int(bigEndian16(bytes, head + 3))
            let pointers = head + (kind == 0x02 ? 12 : 8)
            guard pointers + 2 * cells <= usable else { continue }
            for cell in 0..<cells {
                let place = Int(bigEndian16(bytes, pointers + 2 * cell))
                guard var row = self.cell(bytes, at: place + (kind == 0x02 ? 4 : 0), isTable: kind == 0x0D, &payload)
                else { continue }
                row.payload = payload.bytes
                if Self.split(&row) { try body(row) }
            }
        }
    }

    // MARK: Rows

    /// Reads a row's payload, its overflow pages included.
    private func cell(_ page: Bytes, at start: Int, isTable: Bool, _ payload: inout ByteBuffer) -> Row? {
        var place = start
        guard let length = Self.varint(page, &place).map({ Int(clamping: $0) }), length <= 1 << 30 else { return nil }
        var row = Row()
        if isTable {
            guard let number = Self.varint(page, &place) else { return nil }
            row.number = number
        }
        let most = isTable ? usable - 35 : (usable - 12) * 64 / 255 - 23
        let least = (usable - 12) * 32 / 255 - 23
        let some = least + (length - least) % (usable - 4)
        let local = length <= most ? length : some <= most ? some : least
        guard place + local + (local < length ? 4 : 0) <= usable else { return nil }
        payload.removeAll()
        payload.append(page.extracting(place..<place + local))
        guard local < length else { return row }
        var next = Int(bigEndian32(page, place + local))
        var part = ByteBuffer(capacity: Self.pageSize)
        while payload.count < length {
            guard read(next, into: &part) else { return nil }
            payload.append(part.bytes(4..<4 + min(usable - 4, length - payload.count)))
            next = Int(bigEndian32(part.bytes, 0))
        }
        return row
    }

    /// Splits a payload into columns.
    /// - Returns: false when it is none.
    private static func split(_ row: inout Row) -> Bool {
        let payload = row.payload
        var place = 0
        guard let head = varint(payload, &place).map({ Int(clamping: $0) }), head <= payload.count else { return false }
        var body = head
        while place < head {
            guard let type = varint(payload, &place), type >= 0 else { return false }
            let length =
                switch type {
                case 0, 8, 9, 10, 11: 0
                case 1...4: Int(type)
                case 5: 6
                case 6, 7: 8
                default: Int(clamping: (type - 12) / 2)
                }
            guard length <= payload.count - body else { return false }
            switch type {
            case 0: row.columns.append(.null)
            case 1...6:
                var value = Int64(Int8(bitPattern: payload[body]))
                for offset in 1..<max(1, length) { value = value << 8 | Int64(payload[body + offset]) }
                row.columns.append(.integer(value))
            case 8, 9: row.columns.append(.integer(type - 8))
            case 13... where type % 2 == 1: row.columns.append(.text(body..<body + length))
            default: row.columns.append(.other)
            }
            body += length
        }
        return body == payload.count
    }

    /// One to nine bytes, seven bits each, the ninth eight.
    private static func varint(_ bytes: Bytes, _ place: inout Int) -> Int64? {
        var value: UInt64 = 0
        for index in 0..<9 {
            guard place < bytes.count else { return nil }
            let byte = bytes[place]
            place += 1
            if index == 8 { return Int64(bitPattern: value << 8 | UInt64(byte)) }
            value = value << 7 | UInt64(byte & 0x7F)
            if byte < 0x80 { break }
        }
        return Int64(bitPattern: value)
    }

    private func bigEndian16(_ bytes: Bytes, _ place: Int) -> UInt16 {
        UInt16(bigEndian: bytes.loadUnaligned(fromByteOffset: place, as: UInt16.self))
    }

    private func bigEndian32(_ bytes: Bytes, _ place: Int) -> UInt32 {
        UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: place, as: UInt32.self))
    }
}
