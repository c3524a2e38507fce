import KuraBytes
import KuraJSON
import KuraProtocol
import KuraStorage

/// Answers what is asked of the past: `documents.history`, and `documents.get` with `atRev`.
extension DocumentsHandlers {
    static func history(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        let (collection, id) = (call[DocumentsHistory.collection], call[DocumentsHistory.id])
        let upTo = call[DocumentsHistory.beforeRev].map { $0 > 0 ? UInt64($0) - 1 : 0 } ?? storage.rev
        let isWanting = call[DocumentsHistory.values]
        let versions = try call.run { () throws(EngineError) in
            try storage.documents.versions(
                collection, id, upTo: min(upTo, storage.rev), most: Int(call[DocumentsHistory.limit] ?? 100),
                mostBytes: call.server.limits.replyBytes / 2, values: isWanting)
        }
        throw call.wait(for: try call.run { () throws(ChangesError) in try storage.read(versions) }) {
            (call, read: ItemVersions, error, out, storage) throws(Refusal) in
            if let error { throw Refusal(error, call: call) }
            for version in read.versions { try call.refuseUnlessRoom(for: version.value?.count ?? 0) }
            out.openObject()
            out.openList(.versions)
            for version in read.versions.reversed() { out.append(version) }
            out.closeList()
            out.append(.complete, read.hasAll && !read.hasMore)
            out.append(.hasMore, read.hasMore)
            out.closeObject()
            call.shows(read.versions.last?.rev ?? 0)
        }
    }

    /// The document as it was.
    static func get(
        at rev: UInt64, _ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage
    ) throws(Refusal) {
        try call.checkPast(rev, DocumentsGet.atRev, isAlone: !call.has(DocumentsGet.expand), storage)
        let (collection, id) = (call[DocumentsGet.collection], call[DocumentsGet.id])
        let now = try call.run { () throws(EngineError) in try storage.documents.get(collection, id) }
        // It is as it was then.
        if let item = now.item, item.rev <= rev {
            call.shows(now)
            try call.refuseUnlessRoom(for: item.value.count)
            return append(item.value, rev: item.rev, updatedAt: item.updatedAt, call, &out)
        }
        let versions = try call.run { () throws(EngineError) in
            try storage.documents.versions(collection, id, upTo: rev, most: 1, mostBytes: 0, values: true)
        }
        throw call.wait(for: try call.run { () throws(ChangesError) in try storage.read(versions) }) {
            (call, read: ItemVersions, error, out, storage) throws(Refusal) in
            if let error { throw Refusal(error, call: call) }
            call.shows(rev)
            switch read.state {
            case .version(let version):
                let value = version.value ?? []
                try call.refuseUnlessRoom(for: value.count)
                value.withBytes { append($0, rev: version.rev, updatedAt: version.at, call, &out) }
            case .absent: append(nil, rev: 0, updatedAt: nil, call, &out)
            case .unknown: throw Refusal(ChangesError.compacted(oldestRev: storage.oldestRev), call: call)
            }
        }
    }

    private static func append(
        _ value: Bytes?, rev: UInt64, updatedAt: Int64?, _ call: Call, _ out: inout ByteBuffer
    ) {
        out.openObject()
        out.append(content: value ?? (call.has(DocumentsGet.default) ? call[DocumentsGet.default] : nil), rev: rev)
        if let updatedAt { out.append(.updatedAt, updatedAt) }
        out.closeObject()
    }
}

extension Call {
    /// - Throws: when the past cannot be read as of this revision, or together with what else is asked for.
    func checkPast(
        _ rev: UInt64, _ parameter: NumberParameter, isAlone: Bool, _ storage: isolated Storage
    ) throws(Refusal) {
        guard !isOperation, isAlone else {
            throw .error(
                RPCError(
                    .invalidParams, hint: "the past is read by itself: without `expand`, and in no transaction",
                    parameter: name(parameter)))
        }
        guard rev <= storage.rev else {
            throw .error(
                RPCError(
                    .invalidParams, hint: "no change has this revision yet: it comes from another history",
                    parameter: name(parameter), currentRev: storage.rev))
        }
    }
}

extension ByteBuffer {
    fileprivate mutating func append(_ version: ItemVersions.Version) {
        openObject()
        append(.rev, version.rev)
        append(.updatedAt, version.at)
        if version.isDeleted { append(.deleted, true) } else { append(.bytes, version.bytes) }
        if let value = version.value { value.withBytes { append(.value, json: $0) } }
        if let members = version.members {
            openList(.members)
            members.withBytes { append($0) }
            closeList()
        }
        if !version.client.isEmpty { version.client.withBytes { append(.client, $0) } }
        closeObject()
    }
}
