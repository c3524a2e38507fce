import KuraBytes

/// The bytes of a backup's file, in their order. One thread's.
///
/// The descriptor is read by position; it stays the caller's.
final class BackupInput {
    private let descriptor: Int32
    private let path: String
    private var buffer = ByteBuffer()
    /// Bytes that have been read.
    private(set) var offset = 0

    /// `path`: for messages.
    init(_ descriptor: Int32, path: String) { (self.descriptor, self.path) = (descriptor, path) }

    /// The bytes that have been read; the next read replaces them, unless it appends.
    var bytes: Bytes { buffer.bytes }

    /// Reads the next bytes; `appending`: to those that are there.
    /// - Throws: `truncated` when there are fewer.
    func read(_ count: Int, appending: Bool = false) throws(BackupFault) {
        if !appending { buffer.removeAll() }
        let end = buffer.count + count
        while buffer.count < end {
            guard try readSome(end - buffer.count, into: &buffer) > 0 else { throw .truncated }
        }
    }

    func skip(_ count: Int) { offset += count }

    /// - Throws: `trailing` when anything follows.
    func finish() throws(BackupFault) {
        var more = ByteBuffer()
        guard try readSome(1, into: &more) == 0 else { throw .trailing }
    }

    private func readSome(_ count: Int, into buffer: inout ByteBuffer) throws(BackupFault) -> Int {
        do throws(StorageFault) {
            let read = try FileSystem.read(descriptor, atMost: count, at: offset, into: &buffer, path: path)
            offset += read
            return read
        } catch { throw BackupFault(error) }
    }
}
