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
        let reader = call.reader
        if let ttl = reader[ModelsConfigure.ttlSeconds] { wanted.ttl = ttl }
        if let stale = reader[ModelsConfigure.staleSeconds] { wanted.stale = stale }
        if let staleIfError = reader[ModelsConfigure.staleIfErrorSeconds] { wanted.staleIfError = staleIfError }
        if let maxEntries = reader[ModelsConfigure.maxEntries] { wanted.maxEntries = Int(maxEntries) }
        if let maxBytes = reader[ModelsConfigure.maxBytes] { wanted.maxBytes = Int(maxBytes) }
        if reader.has(ModelsConfigure.partition) { wanted.isPartition = reader[ModelsConfigure.partition] }
        if reader.has(ModelsConfigure.persist) { wanted.persists = reader[ModelsConfigure.persist] }
        if reader.has(ModelsConfigure.scratch) { wanted.isScratch = reader[ModelsConfigure.scratch] }
        guard storage.models.mayBe(wanted, namespace) else {
            throw .error(
                RPCError(
                    .quotaExceeded, hint: "so many namespaces have files of their own; persist in the common one",
                    parameter: reader.name(ModelsConfigure.partition), limit: ModelsStore.partitionLimit))
        }
        storage.models.configure(namespace, wanted)
        if wanted.isScratch, let connection = call.connection {
            storage.models.hold(namespace, by: connection.token)
            connection.holdsCaches = true
        }
        var object = ObjectWriter(&out)
        append(namespace, to: &object, &out, storage)
        out.append("}")
    }

    static func describe(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        try call.awaitLoading(storage)
        guard let namespace = storage.models.namespace(call[ModelsDescribe.namespace]) else {
            throw .error(RPCError(.notFound))
        }
        var object = ObjectWriter(&out)
        append(namespace, to: &object, &out, storage)
        append(numbersOf: namespace, to: &object, &out)
        out.append("}")
    }

    private static func append(
        _ namespace: ModelNamespace, to object: inout ObjectWriter, _ out: inout ByteBuffer, _ storage: isolated Storage
    ) {
        let configuration = namespace.configuration
        if let ttl = configuration.ttl { object.number("ttlSeconds", Int(ttl), &out) }
        object.number("staleSeconds", Int(configuration.stale), &out)
        object.number("staleIfErrorSeconds", Int(configuration.staleIfError), &out)
        if let maxEntries = configuration.maxEntries { object.number("maxEntries", maxEntries, &out) }
        object.number("maxBytes", storage.models.maxBytes(of: namespace), &out)
        object.boolean("partition", configuration.isPartition, &out)
        object.boolean("persist", configuration.persists && !configuration.isScratch, &out)
        object.boolean("scratch", configuration.isScratch, &out)
    }

    static func append(numbersOf namespace: ModelNamespace, to object: inout ObjectWriter, _ out: inout ByteBuffer) {
        let counts = namespace.counts
        for (name, value) in [
            ("count", namespace.count), ("bytes", namespace.bytes), ("hits", counts.hits), ("stale", counts.stale),
            ("misses", counts.misses), ("puts", counts.puts), ("evictions", counts.evictions),
            ("rejections", counts.rejections), ("expired", counts.expired),
        ] { object.number(name, value, &out) }
    }

    static func scopes(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        try call.awaitLoading(storage)
        out.append("{\"scopes\":[")
        var isFirst = true
        for namespace in storage.models.all where call.shows(.list, .models, scope: namespace.name) {
            out.append(isFirst ? "{\"namespace\":" : ",{\"namespace\":")
            isFirst = false
            namespace.name.withBytes { out.append(quoted: $0) }
            out.append(",\"count\":")
            out.append(integer: Int64(namespace.count))
            out.append(",\"bytes\":")
            out.append(integer: Int64(namespace.bytes))
            out.append("}")
        }
        out.append("]}")
    }
}
