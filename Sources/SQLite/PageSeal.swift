import CSQLite
import CSyscalls
public import KuraBytes

/// A checksum at the end of each page of the tables and of caches, so that a byte that the disk has changed is damage and not a value.
///
/// SQLite leaves the last eight bytes of a page alone when the file is made so (`Connection.reserveForSeals`); its header says it (byte 20).
/// They get the CRC-32C of what stands before them, which begins with the page's number, and the same number once more in another form, so
/// that zeros are no checksum. A page is sealed when it is written to the file, and judged when it is read from it; what lies in the WAL has
/// SQLite's own checksums, which a start goes by.
///
/// Files that were made without the room have no seals. Source: https://www.sqlite.org/fileformat2.html#resbyte
///
/// Safety: pages are lent with their lengths for a call.
public struct PageSeal: ~Copyable {
    static let length = 8
    private static let pageSize = 4096
    private static let reservedAt = 20
    private static let mask: UInt32 = 0x4B55_5241

    /// The file has seals, as its header says.
    private(set) var isOn = false
    private var page = ByteBuffer()

    /// Takes note of what the header says, when it is among these bytes.
    mutating func learn(_ bytes: Bytes, at offset: Int64) {
        guard offset == 0, bytes.count > Self.reservedAt, bytes[0] == UInt8(ascii: "S") else { return }
        isOn = bytes[Self.reservedAt] == UInt8(Self.length)
    }

    private func isPage(_ count: Int, at offset: Int64) -> Bool {
        isOn && count == Self.pageSize && offset % Int64(Self.pageSize) == 0
    }

    private static func sum(_ bytes: Bytes, at offset: Int64) -> UInt32 {
        let number = UInt32(truncatingIfNeeded: offset / Int64(pageSize) + 1)
        let body = bytes.extracting(0..<pageSize - length)
        return unsafe csys_crc32c(number, body.baseAddress, body.count)
    }

    /// What a first page of 4,096 bytes is, past SQLite.
    public enum Judgement: Sendable { case holds, broken, unsealed }

    /// Judges a file's first page, past SQLite.
    /// - Parameter page: 4,096 bytes.
    /// - Returns: `unsealed` for a file that was made without seals, and for fewer bytes.
    public static func judge(firstPage page: Bytes) -> Judgement {
        guard page.count == pageSize else { return .unsealed }
        var seal = PageSeal()
        seal.learn(page, at: 0)
        if seal.isOn { return seal.holds(page, at: 0) ? .holds : .broken }
        return seal.hasStraySeal(page, at: 0) ? .broken : .unsealed
    }

    /// Judges a page past SQLite.
    /// - Parameters:
    ///   - page: 4,096 bytes.
    ///   - number: from 1 on.
    /// - Returns: false as well for one without a seal.
    public static func holds(_ page: Bytes, number: Int) -> Bool {
        var seal = PageSeal()
        seal.isOn = true
        return seal.holds(page, at: Int64(number - 1) * Int64(pageSize))
    }

    /// A page with its seal, past SQLite.
    /// - Parameters:
    ///   - page: 4,096 bytes.
    ///   - number: from 1 on.
    /// - Returns: as many bytes.
    public static func sealed(_ page: Bytes, number: Int) -> [UInt8] {
        var seal = PageSeal()
        seal.page.append(page)
        return Array(seal.sealPage(at: Int64(number - 1) * Int64(pageSize)))
    }

    /// Whether a page is what was written; what is no whole page is not judged.
    func holds(_ bytes: Bytes, at offset: Int64) -> Bool {
        guard isPage(bytes.count, at: offset) else { return !hasStraySeal(bytes, at: offset) }
        let sum = Self.sum(bytes, at: offset)
        let end = Self.pageSize - Self.length
        return UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: end, as: UInt32.self)) == sum
            && UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: end + 4, as: UInt32.self)) == sum ^ Self.mask
    }

    /// The first page has a seal, and its header does not say so: the header is damaged.
    private func hasStraySeal(_ bytes: Bytes, at offset: Int64) -> Bool {
        guard !isOn, offset == 0, bytes.count == Self.pageSize else { return false }
        let end = Self.pageSize - Self.length
        let sum = bytes.loadUnaligned(fromByteOffset: end, as: UInt32.self).littleEndian
        return sum != 0 && bytes.loadUnaligned(fromByteOffset: end + 4, as: UInt32.self).littleEndian == sum ^ Self.mask
    }

    /// The page with its seal; nil when it gets none. Good until the next call.
    mutating func seal(_ bytes: Bytes, at offset: Int64) -> Bytes? {
        guard isPage(bytes.count, at: offset) else { return nil }
        page.removeAll()
        page.append(bytes)
        return sealPage(at: offset)
    }

    private mutating func sealPage(at offset: Int64) -> Bytes {
        let sum = Self.sum(page.bytes, at: offset)
        page.overwrite(at: Self.pageSize - Self.length, littleEndian: sum)
        page.overwrite(at: Self.pageSize - Self.length + 4, littleEndian: sum ^ Self.mask)
        return page.bytes
    }
}
