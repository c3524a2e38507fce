import CSyscalls
import KuraBytes

/// What the pages in the tables' WAL are to be, so that a byte that the disk has changed is damage and not a value.
///
/// SQLite holds a WAL's checksums against its frames when it opens the file, and never again: a page that it reads later, for a client or for
/// a checkpoint, is believed. So each page that this process writes or that the opening has looked at leaves its CRC-32C here, and is
/// held against it when it is read. After a restart SQLite itself ends the WAL at the damaged frame, and the log has what follows.
///
/// One for all connections to a file, as long as any is open.
final class FrameSums: Sendable {
    // WAL: a header of 32 bytes, then frames of a header of 24 and a page. Source: https://www.sqlite.org/fileformat2.html#walformat
    private static let headerLength: Int64 = 32
    private static let frameHeaderLength = 24
    private static let pageSize = 4096
    private static let frameLength = Int64(frameHeaderLength + pageSize)

    /// By the frames' numbers; 0 for what is not known.
    private let sums = Guarded<[UInt32]>([])

    private struct Weak {
        weak var sums: FrameSums?
    }
    private static let all = Guarded<[String: Weak]>([:])

    static func of(_ path: String) -> FrameSums {
        all.withLock { all in
            if let known = all[path]?.sums { return known }
            all = all.filter { $0.value.sums != nil }
            let sums = FrameSums()
            all[path] = Weak(sums: sums)
            return sums
        }
    }

    /// The frame whose page lies at an offset; nil where no page begins.
    private static func frame(_ offset: Int64) -> Int? {
        let place = offset - headerLength - Int64(frameHeaderLength)
        return place >= 0 && place % frameLength == 0 ? Int(place / frameLength) : nil
    }

    /// Never 0.
    private static func sum(_ page: Bytes) -> UInt32 {
        // Safety: address and count are of the same bytes.
        unsafe max(csys_crc32c(0, page.baseAddress, page.count), 1)
    }

    /// These bytes are about to be written.
    func note(_ bytes: Bytes, at offset: Int64) {
        guard bytes.count > Self.frameHeaderLength, offset >= Self.headerLength else { return }
        if bytes.count == Self.pageSize, let frame = Self.frame(offset) {
            let sum = Self.sum(bytes)
            return sums.withLock { sums in
                while sums.count <= frame { sums.append(0) }
                sums[frame] = sum
            }
        }
        // A part of a page, or several: they are believed again.
        let first = Int((offset - Self.headerLength) / Self.frameLength)
        let last = Int((offset - Self.headerLength + Int64(bytes.count) - 1) / Self.frameLength)
        sums.withLock { sums in
            for frame in first...last where frame < sums.count { sums[frame] = 0 }
        }
    }

    /// Whether bytes that were read are what was written. A whole frame, as the opening reads it, is learnt.
    func holds(_ bytes: Bytes, at offset: Int64) -> Bool {
        if bytes.count == Self.pageSize, let frame = Self.frame(offset) {
            let known = sums.withLock { frame < $0.count ? $0[frame] : 0 }
            return known == 0 || known == Self.sum(bytes)
        }
        guard bytes.count == Int(Self.frameLength), let frame = Self.frame(offset + Int64(Self.frameHeaderLength))
        else {
            return true
        }
        let sum = Self.sum(bytes.extracting(Self.frameHeaderLength..<bytes.count))
        return sums.withLock { sums in
            while sums.count <= frame { sums.append(0) }
            if sums[frame] == 0 { sums[frame] = sum }
            return sums[frame] == sum
        }
    }
}
