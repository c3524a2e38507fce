import KuraBytes
import SQLite

/// When the files of caches are looked at for free pages, and who waits for that. Belongs to the thread that writes them.
struct CacheShrinking {
    /// When they are looked at, or the next piece is due; nil while nothing has changed.
    var dueAt: UInt64?
    /// Compactions with the sizes of the files that they are about, as of the beginning.
    var compactions: [(compaction: Compaction, before: [String: Int])] = []
    /// Files that have given pages back, and have them in their WALs.
    var changed: Set<String> = []

    /// Nanoseconds between the first change and the look, of one piece, and after a failure.
    static let pause: UInt64 = 2_000_000_000
    static let piece: UInt64 = 4_000_000
    static let failurePause: UInt64 = 60_000_000_000
    /// Pages that may stay free in a file, at least.
    static let spare = 256

    var isHurried: Bool { compactions.contains { !$0.compaction.isIdle } }
}

/// Giving free pages of caches' files back to the file system, in pieces, while the thread has no jobs.
extension CacheFiles {
    /// Milliseconds until there is something to do; nil when nothing is.
    var wait: Int? {
        if shrinking.isHurried { return 0 }
        guard let dueAt = shrinking.dueAt else { return nil }
        let time = clock.monotonic
        return dueAt > time ? Int((dueAt - time + 999_999) / 1_000_000) : 0
    }

    /// Something was written that may have freed pages.
    func noteChanged() {
        guard !isReader, shrinking.dueAt == nil else { return }
        shrinking.dueAt = clock.monotonic + CacheShrinking.pause
    }

    /// Has all free pages given back.
    func add(_ compaction: Compaction) {
        var before: [String: Int] = [:]
        for (name, file) in open {
            let bytes = Compaction.size(file.path)
            guard bytes >= compaction.minimumBytes else { continue }
            before[name] = bytes
            if let count = try? file.freePages().count() { compaction.expects(count.free * FreePages.pageSize) }
        }
        shrinking.compactions.append((compaction, before))
        if shrinking.dueAt == nil { shrinking.dueAt = clock.monotonic }
    }

    /// A piece; when there is nothing left to give back the WALs' bytes are taken back.
    func shrink() {
        for position in shrinking.compactions.indices.reversed()
        where shrinking.compactions[position].compaction.isCancelled {
            shrinking.compactions.remove(at: position).compaction.end([])
        }
        let (start, deadline) = (clock.monotonic, clock.deadline(after: CacheShrinking.piece))
        do throws(SQLiteError) {
            for name in open.keys.sorted() {
                guard let file = open[name] else { continue }
                let isWanted = shrinking.compactions.contains { $0.before[name] != nil }
                let (pages, isThrough) = try file.giveBack(until: deadline) { count in
                    isWanted ? 0 : count.spare(atLeast: CacheShrinking.spare)
                }
                if pages > 0 { shrinking.changed.insert(name) }
                for (compaction, before) in shrinking.compactions where before[name] != nil {
                    compaction.gaveBack(pages * FreePages.pageSize)
                }
                guard pages == 0 || isThrough && !deadline.isOver else { return rest(since: start) }
            }
            for name in shrinking.changed { try open[name]?.emptyWAL() }
            shrinking.changed = []
            shrinking.dueAt = nil
            endCompactions()
        } catch {
            // What is damaged is dropped; anything else may be better later.
            shrinking.changed = []
            shrinking.dueAt = clock.monotonic + CacheShrinking.failurePause
            endCompactions(error)
        }
    }

    private func rest(since start: UInt64) {
        let time = clock.monotonic
        shrinking.dueAt = time + (shrinking.isHurried ? 0 : 3 * (time - start))
    }

    /// Tells those who wait how large the files are now.
    func endCompactions(_ error: SQLiteError? = nil) {
        for (compaction, before) in shrinking.compactions {
            let files = before.map { name, bytes in
                Compaction.File(name: "cache/" + name, before: bytes, after: Compaction.size(path(name)))
            }
            compaction.end(files, error)
        }
        shrinking.compactions = []
    }
}

/// Has a compaction begin on the thread that writes the caches' files.
final class CacheCompaction: CacheJob {
    private let compaction: Compaction

    init(_ compaction: Compaction) {
        self.compaction = compaction
    }

    func run(_ files: CacheFiles) { files.add(compaction) }
}

/// A piece of what the thread does by itself.
final class CacheShrunk: CacheJob {
    func run(_ files: CacheFiles) { files.shrink() }
}
