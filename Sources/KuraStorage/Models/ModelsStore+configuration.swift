import KuraBytes

/// What namespaces are configured to be.
extension ModelsStore {
    /// Whether a namespace may become that: there are only so many files.
    public func mayBe(_ wanted: ModelConfiguration, _ namespace: ModelNamespace) -> Bool {
        guard wanted.hasFile, !namespace.configuration.hasFile else { return true }
        let count = namespaces.all.count { $0.configuration.hasFile }
        return count < Self.partitionLimit
    }

    /// Configures a namespace. What it holds already stays, as far as it may.
    public func configure(_ namespace: ModelNamespace, _ wanted: ModelConfiguration) {
        let old = namespace.configuration
        guard wanted != old else { return }
        let (oldFile, hadFile) = (namespace.file, namespace.persists)
        namespace.configuration = wanted
        if hadFile, wanted.isPartition != old.isPartition || !wanted.persists || wanted.isScratch {
            // It moves: what was in the old file goes from there, and what is in memory goes to the new one.
            outbox.batch.drop(namespace, file: oldFile, isPartition: old.isPartition)
            beginMove(namespace)
        } else if namespace.persists, !hadFile {
            beginMove(namespace)
        }
        if wanted.isScratch { outbox.batch.note(namespace, configuration: Bytes()) } else { write(namespace) }
        if !makeRoom(for: 0, entries: 0, in: namespace) { oversize.append(namespace.number) }
    }

    /// A walk over the rows of a namespace that has moved.
    struct Move {
        var namespace: UInt32
        /// What is in this batch or a later one has been written to the new place.
        var batch: UInt64
        var next: UInt32 = 1
    }

    /// What is in memory of a namespace comes into the file that it has now, by and by; what is not is gone, which shows when it is asked for.
    private func beginMove(_ namespace: ModelNamespace) {
        // Whatever has the file's name is not of this namespace.
        if namespace.persists, namespace.configuration.isPartition {
            outbox.batch.drop(namespace, file: namespace.file, isPartition: true)
        }
        outbox.submit()
        moves.removeAll { $0.namespace == namespace.number }
        guard namespace.count > 0 else { return }
        tell(.drop, .whole, Bytes(), namespace)
        moves.append(Move(namespace: namespace.number, batch: outbox.batch.number))
    }

    /// Goes on with the moves, as far as there is time.
    /// - Returns: nanoseconds until it wants to go on; nil when all are through.
    func move(_ hasTime: () -> Bool) -> UInt64? {
        while let move = moves.last {
            guard let namespace = namespaces[move.namespace] else {
                moves.removeLast()
                continue
            }
            var place = move.next
            while place < rows.end {
                if rows[place].namespace == move.namespace { self.move(place, namespace, move) }
                place += 1
                if place % 256 == 0, !hasTime() { break }
            }
            guard place >= rows.end else {
                moves[moves.count - 1].next = place
                return 1_000_000
            }
            moves.removeLast()
        }
        return nil
    }

    private func move(_ row: UInt32, _ namespace: ModelNamespace, _ move: Move) {
        let flags = rows[row].flags
        // What waits goes to the new place anyway.
        guard rows[row].batch < move.batch, !flags.contains(.unsent) || !namespace.persists else { return }
        rows[row].flags.remove(.persisted)
        memory.keep(row)
        if !flags.contains(.resident) {
            withdraw(row, namespace)
        } else if namespace.persists {
            outbox.persist(row, rows)
        }
    }

    /// The effective bound of a namespace's bytes.
    public func maxBytes(of namespace: ModelNamespace) -> Int { byteLimit(of: namespace) }

    // MARK: Scratch

    /// A connection holds a scratch namespace from now on.
    public func hold(_ namespace: ModelNamespace, by owner: UInt64) { namespaces.hold(namespace, by: owner) }

    /// A connection is gone: scratch namespaces that nobody else holds go with it, their names at once.
    func release(_ owner: UInt64) { namespaces.release(owner) }

    /// Takes out what is in namespaces that have no name any more, as far as there is time.
    /// - Returns: nanoseconds until it wants to go on; nil when that is all.
    func releaseSome() -> UInt64? {
        let isThrough = namespaces.forgetLeaving { namespace in
            var effort = CacheEffort(caches)
            while let row = namespace.order.any {
                guard effort.goesOn() else { return false }
                withdraw(row, namespace)
            }
            return true
        }
        return isThrough ? nil : 1_000_000
    }
}
