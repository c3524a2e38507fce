/// The transaction whose changes are being staged: they get one revision, and are durable together.
struct OpenTransaction {
    /// Transactions that have begun and not ended; only the outermost has a revision of its own.
    private var depth = 0
    /// Whose the innermost of them is. Nothing is staged outside of one.
    private(set) var author = Author.daemon
    /// How many changes the turn had before it.
    private(set) var start = 0
    /// The overlay's bytes when it began.
    private(set) var overlay = 0
    /// Bytes of the pages that it touches, about.
    private(set) var pages = 0
    private(set) var isStrict = false
    /// It is the daemon's own, as a part of the turn's last one.
    var isAmending = false
    /// Shortest time to flush among its relaxed changes, and among the turn's relaxed transactions.
    private(set) var flushSeconds = Int32.max
    private var turnFlushSeconds = Int32.max

    var isOpen: Bool { depth > 0 }

    /// `staged`: changes of the turn so far.
    /// - Returns: whose the transaction around it is.
    mutating func begin(by author: Author, staged: Int, overlay: Int) -> Author {
        if depth == 0 {
            (start, self.overlay) = (staged, overlay)
            (pages, isStrict, flushSeconds) = (0, false, .max)
        }
        depth += 1
        var outer = author
        swap(&outer, &self.author)
        return outer
    }

    /// - Returns: whether it was the outermost.
    mutating func end(_ outer: Author) -> Bool {
        depth -= 1
        author = outer
        return depth == 0
    }

    /// `flushSeconds`: within which a relaxed change is on the disk; nil for one that is strict.
    mutating func note(pages: Int, flushSeconds: Int32?) {
        self.pages += pages
        if let flushSeconds { self.flushSeconds = min(self.flushSeconds, flushSeconds) } else { isStrict = true }
    }

    /// It has ended, and may be acknowledged before it is durable.
    mutating func endRelaxed() { turnFlushSeconds = min(turnFlushSeconds, flushSeconds) }

    /// Shortest time to flush among the relaxed transactions that have ended since this was asked last; nil when there were none.
    mutating func takeFlushSeconds() -> Int32? {
        defer { turnFlushSeconds = .max }
        return turnFlushSeconds < .max ? turnFlushSeconds : nil
    }
}
