import KuraBytes
import KuraProtocol
import KuraStorage

/// Answers what is about namespaces of blobs.
extension BlobsHandlers {
    static func scopes(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        try call.awaitBlobs(storage)
        out.openObject()
        out.openList(.scopes)
        for summary in storage.blobs.summaries() where call.shows(.list, .blobs, scope: summary.name) {
            out.openObject()
            out.append(.namespace, summary.name)
            append(summary, &out)
            out.closeObject()
        }
        out.closeList()
        out.closeObject()
    }

    static func describe(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        try call.awaitBlobs(storage)
        let summary = storage.blobs.summary(call[BlobsDescribe.namespace])
        out.openObject()
        append(summary?.settings ?? BlobNamespaceSettings(), &out)
        append(summary ?? BlobNamespaceSummary.empty, &out)
        append(summary?.counts ?? BlobCounts(), &out)
        out.closeObject()
    }

    private static func append(_ counts: BlobCounts, _ out: inout ByteBuffer) {
        out.append(.hits, counts.hits)
        out.append(.misses, counts.misses)
        out.append(.stored, counts.stored)
        out.append(.declined, counts.declined)
        out.append(.evicted, counts.evicted)
        out.append(.expired, counts.expired)
        out.append(.damaged, counts.damaged)
    }

    /// What the namespaces hold that the caller may see, and what they have seen: the member `blobs`.
    static func append(numbersFor call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) {
        out.openList(.blobs)
        for summary in storage.blobs.summaries() where call.shows(.list, .blobs, scope: summary.name) {
            out.openObject()
            out.append(.namespace, summary.name)
            append(summary, &out)
            append(summary.counts, &out)
            out.closeObject()
        }
        out.closeList()
    }

    private static func append(_ settings: BlobNamespaceSettings, _ out: inout ByteBuffer) {
        out.append(.ttlSeconds, settings.ttlSeconds ?? BlobLimits.ttlSeconds)
        if let most = settings.maxBytes { out.append(.maxBytes, most) }
        if let most = settings.maxEntries { out.append(.maxEntries, most) }
    }

    private static func append(_ summary: BlobNamespaceSummary, _ out: inout ByteBuffer) {
        out.append(.count, summary.count)
        out.append(.bytes, summary.bytes)
    }

    static func configure(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        try call.awaitBlobs(storage)
        var settings = storage.blobs.summary(call[BlobsConfigure.namespace])?.settings ?? BlobNamespaceSettings()
        try call.change(&settings.ttlSeconds, BlobsConfigure.ttlSeconds, atMost: BlobLimits.longestTTLSeconds)
        try call.change(&settings.maxBytes, BlobsConfigure.maxBytes, atMost: Int(WireLimits.safeInteger))
        try call.change(&settings.maxEntries, BlobsConfigure.maxEntries, atMost: Int(WireLimits.safeInteger))
        try call.keepTurn()
        try call.run { () throws(EngineError) in
            try storage.blobs.configure(
                call[BlobsConfigure.namespace], settings, for: call.connection?.client.admission.accounts ?? [])
        }
        out.openObject()
        append(settings, &out)
        out.closeObject()
    }
}

extension Call {
    /// Sets what a parameter says: a number; null: what it was at first. What is absent stays.
    fileprivate func change(_ setting: inout Int?, _ parameter: JSONParameter, atMost most: Int) throws(Refusal) {
        guard has(parameter) else { return }
        let value = self[parameter]
        if value.equals("null") {
            setting = nil
            return
        }
        guard let number = RequestReader.integer(value), number >= 1, number <= most else {
            throw .error(
                RPCError(
                    .invalidParams, hint: "null, or a whole number from 1", parameter: name(parameter), limit: most))
        }
        setting = Int(number)
    }
}
