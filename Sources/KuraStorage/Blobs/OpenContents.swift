import CSyscalls
import Glibc

/// Files of contents that were asked for lately, kept open: whoever asks next gets a descriptor without waiting for a thread.
struct OpenContents: ~Copyable {
    private struct Entry {
        var digest: ContentDigest
        var file: Int32
        var isVisited = false
    }
    private var entries: [Entry] = []
    private var hand = 0

    private static let limit = 16

    deinit { for entry in entries { close(entry.file) } }

    /// A new descriptor, open for reading only, with a place in the file of its own; its closing is the caller's. Nil when the file is not kept, has lost its
    /// name, or has not so many bytes any more.
    mutating func descriptor(of digest: ContentDigest, bytes: Int) -> Int32? {
        guard let place = entries.firstIndex(where: { $0.digest == digest }) else { return nil }
        var information = stat()
        // Safety: the kernel fills one `stat`, which is ours.
        guard unsafe fstat(entries[place].file, &information) == 0, information.st_nlink > 0,
            Int(information.st_size) == bytes
        else { return nil }
        entries[place].isVisited = true
        let descriptor = csys_reopen_for_reading(entries[place].file)
        return descriptor >= 0 ? descriptor : nil
    }

    /// Keeps an open file, which is closed here from now on.
    /// - Returns: one that is not kept any more, to be closed where that may take its time.
    mutating func keep(_ file: Int32, of digest: ContentDigest) -> Int32? {
        if let place = entries.firstIndex(where: { $0.digest == digest }) {
            defer { entries[place].file = file }
            return entries[place].file
        }
        guard entries.count == Self.limit else {
            entries.append(Entry(digest: digest, file: file))
            return nil
        }
        // Second chance, in a circle.
        while entries[hand].isVisited {
            entries[hand].isVisited = false
            hand = (hand + 1) % Self.limit
        }
        let old = entries[hand].file
        entries[hand] = Entry(digest: digest, file: file)
        hand = (hand + 1) % Self.limit
        return old
    }

    /// The content is on its way out.
    /// - Returns: its file when it was kept, to be closed where that may take its time.
    mutating func remove(_ digest: ContentDigest) -> Int32? {
        guard let place = entries.firstIndex(where: { $0.digest == digest }) else { return nil }
        hand = 0
        return entries.remove(at: place).file
    }
}
