import KuraBytes
import KuraProtocol

/// Models of seed bundles.
extension RecordGuard {
    /// What has come before.
    struct ModelsSeen {
        var namespaces: Set<[UInt8]> = []
        var partitions = 0
    }

    /// Steps through a frame's models; nil at their end.
    /// - Throws: `unfit` for the first one that does not pass.
    mutating func nextModel(in payload: Bytes, at position: inout Int) throws(BackupFault) -> BundleModel? {
        let found: BundleModel?
        do throws(BackupFault) { found = try BundleModel.next(in: payload, at: &position) } catch {
            throw .unfit(record: count + 1, reason: "is not what a daemon writes: its head and its lengths do not fit")
        }
        guard let model = found else { return nil }
        count += 1
        do throws(RecordUnfit) {
            switch model {
            case .namespace(let name, let text): try check(namespace: name, text)
            case .entry(let entry): try check(entry)
            }
        } catch { throw .unfit(record: count, reason: "(models) is not what a daemon writes: \(error.text)") }
        return model
    }

    private mutating func check(namespace name: Bytes, _ text: Bytes) throws(RecordUnfit) {
        guard JSONWalk.isName(name, limit: WireLimits.scopeBytes) else { throw RecordUnfit("its namespace is no name") }
        guard models.namespaces.insert(Array(name)).inserted else { throw RecordUnfit("its namespace comes twice") }
        let configuration = ModelConfiguration(text: text)
        if configuration.isPartition { models.partitions += 1 }
        guard models.namespaces.count <= ModelsStore.namespaceLimit, models.partitions <= ModelsStore.partitionLimit
        else { throw RecordUnfit("there are more namespaces than there can be") }
        let counts = 1...Int(WireLimits.safeInteger)
        let seconds = [configuration.stale, configuration.staleIfError, configuration.ttl ?? 0]
        guard configuration.text.withBytes({ $0.equals(text) }),
            seconds.allSatisfy({ WireLimits.cacheSeconds.contains($0) }),
            counts.contains(configuration.maxEntries ?? 1),
            counts.contains(configuration.maxBytes ?? 1)
        else { throw RecordUnfit("its namespace is configured as none can be") }
    }

    private func check(_ entry: BundleModel.Entry) throws(RecordUnfit) {
        guard !models.namespaces.isEmpty else { throw RecordUnfit("it is of no namespace") }
        guard JSONWalk.isName(entry.key, limit: WireLimits.keyBytes) else { throw RecordUnfit("its key is no name") }
        guard entry.etag.isEmpty || JSONWalk.isName(entry.etag, limit: WireLimits.etagBytes) else {
            throw RecordUnfit("its entity tag is no name")
        }
        guard Timestamp.range.contains(entry.storedAt) else {
            throw RecordUnfit("it was stored before the year 0 or after the year 9999")
        }
        try check(tags: entry.tags)
        guard isOneLine(entry.value) else { throw RecordUnfit("its value is not one line of JSON") }
    }

    /// Names, each behind a byte with its length.
    private func check(tags: Bytes) throws(RecordUnfit) {
        var position = 0
        var count = 0
        while position < tags.count {
            let end = position + 1 + Int(tags[position])
            count += 1
            guard end <= tags.count, count <= WireLimits.tags,
                JSONWalk.isName(tags.extracting(position + 1..<end), limit: WireLimits.tagBytes)
            else { throw RecordUnfit("its tags are none") }
            position = end
        }
    }
}
