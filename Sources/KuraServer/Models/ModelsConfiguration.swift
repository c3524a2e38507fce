import KuraBytes
import KuraProtocol
import KuraStorage

/// Answers what concerns namespaces as a whole.
extension ModelsHandlers {
    static func configure(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        let namespace = try call.namespace(storage)
        try call.awaitLoading(storage)
        try call.keepTurn()
        var wanted = namespace.configuration
        if let ttl = call[ModelsConfigure.ttlSeconds] { wanted.ttl = ttl }
        if let stale = call[ModelsConfigure.staleSeconds] { wanted.stale = stale }
        if let staleIfError = call[ModelsConfigure.staleIfErrorSeconds] { wanted.staleIfError = staleIfError }
        if let maxEntries = call[ModelsConfigure.maxEntries] { wanted.maxEntries = Int(maxEntries) }
        if let maxBytes = call[ModelsConfigure.maxBytes] { wanted.maxBytes = Int(maxBytes) }
        if call.has(ModelsConfigure.partition) { wanted.isPartition = call[ModelsConfigure.partition] }
        if call.has(ModelsConfigure.persist) { wanted.persists = call[ModelsConfigure.persist] }
        if call.has(ModelsConfigure.scratch) { wanted.isScratch = call[ModelsConfigure.scratch] }
        guard storage.models.mayBe(wanted, namespace) else {
            throw .error(
                RPCError(
                    .quotaExceeded, hint: "so many namespaces have files of their own; persist in the common one",
                    parameter: call.name(ModelsConfigure.partition), limit: ModelsStore.partitionLimit))
        }
        storage.models.configure(namespace, wanted)
        if wanted.isScratch, let connection = call.connection {
            storage.models.hold(namespace, by: connection.token)
            connection.outstanding.holdsCaches = true
        }
        out.openObject()
        append(namespace, to: &out, storage)
        out.closeObject()
    }

    static func describe(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        try call.awaitLoading(storage)
        guard let namespace = storage.models.namespace(call[ModelsDescribe.namespace]) else {
            throw .error(RPCError(.notFound))
        }
        out.openObject()
        append(namespace, to: &out, storage)
        append(numbersOf: namespace, to: &out)
        out.closeObject()
    }

    private static func append(_ namespace: ModelNamespace, to out: inout ByteBuffer, _ storage: isolated Storage) {
        let configuration = namespace.configuration
        if let ttl = configuration.ttl { out.append(.ttlSeconds, ttl) }
        out.append(.staleSeconds, configuration.stale)
        out.append(.staleIfErrorSeconds, configuration.staleIfError)
        if let maxEntries = configuration.maxEntries { out.append(.maxEntries, maxEntries) }
        out.append(.maxBytes, storage.models.maxBytes(of: namespace))
        out.append(.partition, configuration.isPartition)
        out.append(.persist, configuration.persists && !configuration.isScratch)
        out.append(.scratch, configuration.isScratch)
    }

    static func append(numbersOf namespace: ModelNamespace, to out: inout ByteBuffer) {
        let counts = namespace.counts
        out.append(.count, namespace.count)
        out.append(.bytes, namespace.bytes)
        out.append(.hits, counts.hits)
        out.append(.stale, counts.stale)
        out.append(.misses, counts.misses)
        out.append(.puts, counts.puts)
        out.append(.evictions, counts.evictions)
        out.append(.rejections, counts.rejections)
        out.append(.expired, counts.expired)
    }

    static func scopes(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        try call.awaitLoading(storage)
        out.openObject()
        out.openList(.scopes)
        for namespace in storage.models.all where call.shows(.list, .models, scope: namespace.name) {
            out.openObject()
            out.append(.namespace, namespace.name)
            out.append(.count, namespace.count)
            out.append(.bytes, namespace.bytes)
            out.closeObject()
        }
        out.closeList()
        out.closeObject()
    }
}
