import Synchronization

/// How the fold thread uses the room on the disk; the loop says it.
final class FoldPace: Sendable {
    private let bytes: Atomic<Int>
    private let short = Atomic<Bool>(false)
    private let full = Atomic<Bool>(false)

    init(checkpointBytes: Int) { bytes = Atomic(checkpointBytes) }

    func set(checkpointBytes: Int, isShort: Bool, isFull: Bool) {
        bytes.store(checkpointBytes, ordering: .relaxed)
        short.store(isShort, ordering: .relaxed)
        full.store(isFull, ordering: .relaxed)
    }

    /// Bytes of the WAL at which it is checkpointed.
    var checkpointBytes: Int { bytes.load(ordering: .relaxed) }
    /// What a checkpoint has copied goes from the WAL's file.
    var isShort: Bool { short.load(ordering: .relaxed) }
    /// Everything that is free in the tables' file is given back at once.
    var isFull: Bool { full.load(ordering: .relaxed) }
}
