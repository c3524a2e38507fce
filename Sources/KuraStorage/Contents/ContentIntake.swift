import Glibc
import KuraBytes

/// Why a content was not taken in.
public enum ContentFault: Error, Sendable {
    /// The descriptor is of something else than a file.
    case noFile
    /// It cannot be had; the source knows why.
    case closed
    /// The file changed its size while it was read.
    case changed
    /// More than its bound.
    case tooLarge
    case badBase64
    case unreadable
    case noSpace
    /// The disk is nearly full.
    case lowStorage
    /// More contents are on their way in than all blobs may have.
    case crowded
    /// Too many files are open, or memory is short.
    case want
    /// A directory is gone, or something else lies in the content's place; it is told of.
    case damaged
    /// The storage's own disk failed.
    case failed
    case ending

    init(_ fault: StorageFault) { self = fault.isFull ? .noSpace : fault.isWant ? .want : .failed }
}

/// How contents come in, blobs' and attachments': from a file or from base64, by pieces.
enum ContentIntake {
    /// Bytes of a piece.
    static let piece = 256 << 10

    /// Bytes of a file that a content comes from.
    static func size(of descriptor: Int32) throws(ContentFault) -> Int {
        var information = stat()
        // Safety: the kernel fills one `stat`, which is ours.
        guard unsafe fstat(descriptor, &information) == 0 else { throw .unreadable }
        guard information.st_mode & S_IFMT == S_IFREG else { throw .noFile }
        return Int(information.st_size)
    }

    /// Reads a file on, by position: what others do with its descriptor is of no matter.
    /// `size`: what it should have. One byte more is asked for, to see a file that grows.
    /// `end`: where this call ends, about. `isEnding`: asked before each piece.
    /// `read`: appends at most so many bytes from a position on, and returns how many. `take`: is given them.
    /// - Returns: whether there is more.
    static func read(
        from start: Int, size: Int, until end: Int, piece: Int = piece, _ isEnding: () -> Bool,
        read: (_ position: Int, _ most: Int, inout ByteBuffer) throws(ContentFault) -> Int,
        take: (Bytes) throws(ContentFault) -> Void
    ) throws(ContentFault) -> Bool {
        var buffer = ByteBuffer(capacity: piece)
        var position = start
        while position <= size {
            if isEnding() { throw .ending }
            guard position < end else { return true }
            buffer.removeAll()
            let count = try read(position, min(piece, size - position + 1), &buffer)
            if count == 0 { break }
            try take(buffer.bytes)
            position += count
        }
        guard position == size else { throw .changed }
        return false
    }

    /// The same of somebody else's file.
    static func read(
        _ descriptor: Int32, _ foreign: ForeignCalls, from start: Int, size: Int, until end: Int, piece: Int = piece,
        _ isEnding: () -> Bool, take: (Bytes) throws(ContentFault) -> Void
    ) throws(ContentFault) -> Bool {
        try read(
            from: start, size: size, until: end, piece: piece, isEnding,
            read: { (position, most, buffer) throws(ContentFault) in
                do throws(StorageFault) {
                    return try foreign.call { () throws(StorageFault) -> Int in
                        try FileSystem.read(descriptor, atMost: most, at: position, into: &buffer, path: "")
                    }
                } catch { throw .unreadable }
            }, take: take)
    }

    /// Decodes base64 by pieces of whole groups; padding is for the last one.
    /// `isEnding`: asked before each piece. `take`: is given what has been decoded and not been taken yet, after each.
    static func decode(
        _ text: [UInt8], into decoded: inout ByteBuffer, _ isEnding: () -> Bool = { false },
        take: (inout ByteBuffer) throws(ContentFault) -> Void
    ) throws(ContentFault) {
        let step = piece / 3 * 4
        var start = 0
        while start < text.count {
            if isEnding() { throw .ending }
            let end = min(start + step, text.count)
            let before = decoded.count
            let isGood = text[start..<end].withBytes { Base64.decode($0, into: &decoded) }
            guard isGood, end == text.count || decoded.count - before == step / 4 * 3 else { throw .badBase64 }
            try take(&decoded)
            start = end
        }
    }
}
