public import KuraBytes

/// Invalidating many entries at once: a mark is set, however many there are, and each entry is held against the marks when it is looked at.
extension ModelsStore {
    public func invalidate(_ namespace: ModelNamespace, _ mode: Invalidation) {
        let sequence = outbox.countChange()
        tell(mode, .whole, Bytes(), namespace)
        if mode == .drop {
            drop(namespace)
            return
        }
        namespace.marks.whole.set(mode, sequence)
        if namespace.persists { outbox.batch.mark(namespace, kind: 0, name: Bytes(), namespace.marks.whole) }
    }

    public func invalidate(_ namespace: ModelNamespace, tag name: Bytes, _ mode: Invalidation) {
        let sequence = outbox.countChange()
        guard let tag = namespace.tag(name) else { return invalidate(namespace, mode) }
        var marks = namespace.marks.tags[tag].marks
        marks.set(mode, sequence)
        tell(mode, .tag, name, namespace)
        namespace.marks.mark(tag: tag, marks)
        if namespace.persists { outbox.batch.mark(namespace, kind: 1, name: name, marks) }
    }

    public func invalidate(_ namespace: ModelNamespace, prefix: Bytes, _ mode: Invalidation) {
        let sequence = outbox.countChange()
        // A cache may forget more than it was told to, and never less.
        guard let markable = namespace.marks.prefixes.markable(prefix) else { return invalidate(namespace, mode) }
        var marks = ModelMarks()
        marks.set(mode, sequence)
        namespace.marks.mark(prefix: markable, marks)
        markable.withBytes { marked in
            // Half a character is nothing that can be told.
            var end = marked.count
            while end < prefix.count, end > 0, prefix[end] & 0xC0 == 0x80 { end -= 1 }
            tell(mode, end == 0 ? .whole : .prefix, marked.extracting(0..<end), namespace)
            if namespace.persists {
                outbox.batch.mark(namespace, kind: 2, name: marked, namespace.marks.prefixes[marked])
            }
        }
    }

    func tell(
        _ mode: Invalidation, _ extent: CacheChange.Target.Extent, _ name: Bytes, _ namespace: ModelNamespace
    ) {
        caches.tell(
            .models,
            CacheChange(
                target: .init(source: .models, extent: extent, scope: namespace.name, name: Array(name)),
                event: mode == .drop ? .dropped : .invalidated))
    }

    /// All of a namespace goes: one that has a file of its own loses that, another one's entries are marked and swept.
    func drop(_ namespace: ModelNamespace) {
        namespace.marks.whole.set(.drop, outbox.sequence)
        if namespace.persists {
            outbox.batch.mark(namespace, kind: 0, name: Bytes(), namespace.marks.whole)
            if namespace.configuration.isPartition {
                outbox.batch.drop(namespace, file: namespace.file, isPartition: true)
                namespace.unlinkedBefore = outbox.sequence
                outbox.submit()
            }
        }
        sweepSoon()
    }
}

extension CacheChange {
    /// Of an entry of the model cache.
    init(_ event: Event, of key: Bytes, in namespace: ModelNamespace) {
        self.init(
            target: .init(source: .models, extent: .entry, scope: namespace.name, name: Array(key)), event: event)
    }
}
