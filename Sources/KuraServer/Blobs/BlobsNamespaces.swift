import KuraBytes
import KuraProtocol
import KuraStorage

/// Answers what is about namespaces of blobs.
enum BlobsNamespaces {
    static func scopes(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        try call.awaitBlobs(storage)
        out.append("{\"scopes\":[")
        var isFirst = true
        for summary in storage.blobs.summaries() where call.shows(.list, .blobs, scope: summary.name) {
            out.append(isFirst ? "{\"namespace\":" : ",{\"namespace\":")
            isFirst = false
            summary.name.withBytes { out.append(quoted: $0) }
            append(summary, &out)
            out.append("}")
        }
        out.append("]}")
    }

    static func describe(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        try call.awaitBlobs(storage)
        let summary = storage.blobs.summary(call[BlobsDescribe.namespace])
        append(summary?.settings ?? BlobNamespaceSettings(), &out)
        append(summary ?? BlobNamespaceSummary.empty, &out)
        append(summary?.counts ?? BlobCounts(), &out)
        out.append("}")
    }

    private static func append(_ counts: BlobCounts, _ out: inout ByteBuffer) {
        let named: [(StaticString, Int)] = [
            (",\"hits\":", counts.hits), (",\"misses\":", counts.misses), (",\"stored\":", counts.stored),
            (",\"declined\":", counts.declined), (",\"evicted\":", counts.evicted), (",\"expired\":", counts.expired),
            (",\"damaged\":", counts.damaged),
        ]
        for (name, count) in named {
            out.append(name)
            out.append(integer: Int64(count))
        }
    }

    /// What the namespaces hold that the caller may see, and what they have seen: an array.
    static func append(numbersFor call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) {
        out.append("[")
        var isFirst = true
        for summary in storage.blobs.summaries() where call.shows(.list, .blobs, scope: summary.name) {
            out.append(isFirst ? "{\"namespace\":" : ",{\"namespace\":")
            isFirst = false
            summary.name.withBytes { out.append(quoted: $0) }
            append(summary, &out)
            append(summary.counts, &out)
            out.append("}")
        }
        out.append("]")
    }

    /// `{"ttlSeconds":…` — the caller closes the object.
    static func append(_ settings: BlobNamespaceSettings, _ out: inout ByteBuffer) {
        out.append("{\"ttlSeconds\":")
        out.append(integer: Int64(settings.ttlSeconds ?? BlobLimits.ttlSeconds))
        if let most = settings.maxBytes {
            out.append(",\"maxBytes\":")
            out.append(integer: Int64(most))
        }
        if let most = settings.maxEntries {
            out.append(",\"maxEntries\":")
            out.append(integer: Int64(most))
        }
    }

    private static func append(_ summary: BlobNamespaceSummary, _ out: inout ByteBuffer) {
        out.append(",\"count\":")
        out.append(integer: Int64(summary.count))
        out.append(",\"bytes\":")
        out.append(integer: Int64(summary.bytes))
    }

    static func configure(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        try call.awaitBlobs(storage)
        let reader = call.reader
        var settings = storage.blobs.summary(reader[BlobsConfigure.namespace])?.settings ?? BlobNamespaceSettings()
        try call.change(&settings.ttlSeconds, BlobsConfigure.ttlSeconds, atMost: BlobLimits.longestTTLSeconds)
        try call.change(&settings.maxBytes, BlobsConfigure.maxBytes, atMost: Int(WireLimits.safeInteger))
        try call.change(&settings.maxEntries, BlobsConfigure.maxEntries, atMost: Int(WireLimits.safeInteger))
        try call.keepTurn()
        try call.run { () throws(StoreError) in
            try storage.blobs.configure(
                reader[BlobsConfigure.namespace], settings, for: call.connection?.admission.accounts ?? [])
        }
        append(settings, &out)
        out.append("}")
    }
}

extension Call {
    /// Sets what a parameter says: a number; null: what it was at first. What is absent stays.
    fileprivate func change(_ setting: inout Int?, _ parameter: JSONParameter, atMost most: Int) throws(Refusal) {
        guard reader.has(parameter) else { return }
        let value = reader[parameter]
        if value.equals("null") {
            setting = nil
            return
        }
        guard let number = RequestReader.integer(value), number >= 1, number <= most else {
            throw .error(
                RPCError(
                    .invalidParams, hint: "null, or a whole number from 1", parameter: reader.name(parameter),
                    limit: most))
        }
        setting = Int(number)
    }
}
