import KuraBytes
import KuraProtocol
import Testing

@Suite struct MethodTableTests {
    private func index(_ name: String, in table: MethodTable) -> Int? {
        GuardedBytes.with(name.utf8) { table.index(of: $0) }
    }

    @Test func `every method is found by its name and by no other`() {
        let table = MethodTable.standard
        for (position, method) in table.methods.enumerated() {
            #expect(index(method.name, in: table) == position)
            for other in [
                method.name + "x", String(method.name.dropLast()), method.name.uppercased(), " " + method.name,
                method.name + "\0",
            ] {
                #expect(index(other, in: table) == nil, "\(other)")
            }
        }
        #expect(index("", in: table) == nil)
        #expect(table.index(of: Bytes()) == nil)
    }

    @Test func `a table of a thousand methods, or of none, finds what it has`() {
        let large = MethodTable(
            (0..<1000).map { Method("store.method\($0)", .rpc, .read, needs: .nothing, "", result: []) })
        for number in 0..<1000 { #expect(index("store.method\(number)", in: large) == number) }
        #expect(index("store.method1000", in: large) == nil)
        let empty = MethodTable([])
        #expect(index("x", in: empty) == nil)
    }
}

/// The catalogue itself: what every entry has to keep to.
@Suite struct MethodTests {
    @Test func `names are a store and a verb of the vocabulary, each once`() {
        // Law 13's verbs, and what is no room.
        let verbs: Set<String> = [
            "get", "getMany", "put", "putMany", "delete", "deleteMany", "list", "count", "configure", "describe",
            "scopes", "import", "export", "drop", "purge",
        ]
        let others: Set<String> = [
            "blobs.stat", "blobs.statMany", "blobs.touch", "blobs.findMissing", "blobs.renew",
            "blobs.beginUpload", "blobs.appendUpload", "blobs.commitUpload", "blobs.abortUpload", "models.touch",
            "models.fail", "models.renew", "models.invalidate", "storage.stats", "storage.sweep", "storage.diskWrites",
            "storage.resolveReport", "storage.slow", "storage.record", "fault.inject", "fault.clear",
            "storage.backup", "storage.bundle", "backups.verify", "backups.compare", "backups.prune",
            "storage.quarantine", "documents.history", "transaction.undo",
            "storage.acknowledge",
            "storage.check", "storage.compact", "rpc.discover",
            "session.hello", "session.can", "storage.ping", "storage.health", "storage.status",
            "settings.increment", "transaction.apply", "changes.watch", "changes.unwatch", "changes.wait",
            "settings.register", "settings.override", "settings.clearOverrides", "documents.watch", "documents.unwatch",
            "rpc.cancel", "documents.find", "documents.distinct", "documents.aggregate", "documents.explain",
            "documents.patch", "documents.increment", "documents.restore", "documents.attach", "documents.attachment",
            "documents.detach", "documents.search", "secrets.status", "secrets.slots", "secrets.addSlot",
            "secrets.removeSlot", "secrets.unlock", "secrets.lock", "secrets.changePassphrase", "secrets.rotate",
            "secrets.versions", "secrets.restoreVersion", "secrets.generate", "secrets.rename", "secrets.setAttributes",
            "secrets.clear", "secrets.sign", "secrets.verifySignature", "secrets.publicKey", "secrets.hmac",
            "secrets.verifyHmac", "secrets.encrypt", "secrets.decrypt", "secrets.rewrap", "secrets.issueToken",
            "secrets.redeemToken", "secrets.destroyVersion", "secrets.verify", "secrets.repair", "secrets.audit",
            "secrets.auditVerify",
        ]
        for method in Method.all {
            let parts = method.name.split(separator: ".", omittingEmptySubsequences: false)
            #expect(parts.count == 2 && String(parts[0]) == method.store.rawValue, "\(method.name)")
            #expect(verbs.contains(String(parts[1])) || others.contains(method.name), "\(method.name)")
        }
        #expect(Set(Method.all.map(\.name)).count == Method.all.count)
        #expect(Method.all.count <= Int(Int16.max))
    }

    @Test func `summaries are one sentence on one line, for methods and for fields`() {
        for method in Method.all {
            let fields = (method.parameters + method.result).flatMap(Self.withInner)
            for summary in [method.summary] + fields.map(\.summary) {
                #expect(
                    summary.hasSuffix(".") && !summary.contains("\n") && summary.count > 3, "\(method.name): \(summary)"
                )
                #expect(!summary.contains("|"), "it stands in a table: \(summary)")
            }
            #expect(Set(method.parameters.map(\.name)).count == method.parameters.count)
            #expect(Set(method.result.map(\.name)).count == method.result.count)
            #expect(!method.result.isEmpty)
        }
    }

    @Test func `required parameters come first, so that they can be given by position`() {
        // An id that may be left out stands before the value that may not: `[collection, id, value]` reads best.
        let exceptions: Set<String> = ["documents.put"]
        for method in Method.all where !exceptions.contains(method.name) {
            let required = method.parameters.map(\.isRequired)
            #expect(required == required.sorted { $0 && !$1 }, "\(method.name)")
        }
    }

    @Test func `every write can fail for want of space, and no read can`() {
        // What is not in the log has errors of its own.
        for method in Method.all where !method.isApart {
            #expect(method.errors.contains(.noSpace) == (method.access == .write), "\(method.name)")
            #expect(method.errors.contains(.outcomeUnknown) == (method.access == .write), "\(method.name)")
            #expect(
                method.errors.contains(.conflict)
                    == (method.parameters.contains {
                        $0.name == "ifRev" || Self.withInner($0).contains { $0.name == "ifRev" }
                    } || method.store == .transaction), "\(method.name)")
            #expect(Set(method.errors).count == method.errors.count)
        }
    }

    @Test func `every example is accepted by the reader`() {
        let reader = RequestReader()
        for method in Method.all {
            let found = reader.read(
                line: "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\(method.name)\",\"params\":\(method.example)}")
            #expect(found.method == method.name && found.error == nil, "\(method.name): \(found)")
        }
    }

    static func withInner(_ field: Field) -> [Field] {
        [field] + inner(field.type)
    }

    private static func inner(_ type: ValueType) -> [Field] {
        switch type {
        case .object(let fields): fields.flatMap(withInner)
        case .list(let element, _), .map(let element): inner(element)
        default: []
        }
    }
}
