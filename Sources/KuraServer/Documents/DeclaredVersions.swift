import KuraBytes
import KuraProtocol
import KuraStorage

/// The versions of collections that a connection has declared to know. Another client may migrate a collection while this one is
/// connected: then its writes are refused, before it puts old documents among new ones.
struct DeclaredVersions {
    private var versions: [[UInt8]: Int] = [:]

    /// Collections of a connection; what comes beyond them is not held against.
    private static let limit = 1024

    mutating func declare(_ version: Int, of collection: Bytes) {
        guard versions.count < Self.limit || versions[Array(collection)] != nil else { return }
        versions[Array(collection)] = version
    }

    /// - Throws: `schemaTooNew`, when the collection has come to a higher version.
    func check(_ collection: Bytes, _ storage: isolated Storage) throws(Refusal) {
        guard let declared = versions[Array(collection)], let stored = storage.version(of: collection),
            declared < stored
        else { return }
        throw .error(.schemaTooNew(stored: stored, declared: declared))
    }
}

extension Call {
    /// Holds a write to documents against what its connection has declared. A request that declares a version itself is judged by
    /// that one.
    func check(_ versions: DeclaredVersions, _ storage: isolated Storage) throws(Refusal) {
        let rule = server.methods.access(reader.methodIndex)
        guard rule.writesDocuments, rule.version.map({ !reader.has($0) }) ?? true else { return }
        try versions.check(self[InDocuments.collection], storage)
    }

    /// The client knows the collection's documents up to this version.
    func declares(_ version: Int, of collection: Bytes) {
        guard let connection else { return }
        var versions = connection.client.declaredVersions ?? DeclaredVersions()
        connection.client.declaredVersions = nil
        versions.declare(version, of: collection)
        connection.client.declaredVersions = versions
    }
}
