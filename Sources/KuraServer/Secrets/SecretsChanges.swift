import KuraBytes
import KuraProtocol
import KuraStorage

/// Answers what changes secrets.
extension SecretsHandlers {
    static func put(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        let name = call.secretName(group: SecretsPut.accessGroup)
        try call.checkInstallation(storage)
        defer { call.memory.wipePlaintext() }
        let kind = try call.keyKind(
            SecretsPut.algorithm,
            of: call.readSecret(
                SecretsPut.secret, base64: SecretsPut.secretBase64, sealed: SecretsPut.secretSealed, name, storage))
        let options = try call.options(
            label: SecretsPut.label, attributes: SecretsPut.attributes, accessibility: SecretsPut.accessibility,
            deviceOnly: SecretsPut.deviceOnly, backup: SecretsPut.backup, expiresAt: SecretsPut.expiresAt,
            maxVersions: SecretsPut.maxVersions,
            storage)
        try store(kind, options, name, ifRev: SecretsPut.ifRev, call, &out, storage)
        out.closeObject()
    }

    /// Stores what is in `plaintext`. `{"rev":N,"version":N`; the caller closes the object.
    private static func store(
        _ kind: SecretKind, _ options: SecretOptions, _ name: SecretName, ifRev: NumberParameter, _ call: Call,
        _ out: inout ByteBuffer, _ storage: isolated Storage
    ) throws(Refusal) {
        let value = call.memory.plaintext.bytes
        let (result, version) = try call.run { () throws(StoreError) in
            try storage.secrets.put(
                name, NewSecret(kind, value, options), ifRev: call.condition(ifRev), by: call.author(storage))
        }
        append(result, version, call, &out)
    }

    private static func append(_ result: WriteResult, _ version: UInt32, _ call: Call, _ out: inout ByteBuffer) {
        call.append(rev: result.rev, to: &out)
        out.append(.version, version)
    }

    static func delete(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        try call.checkInstallation(storage)
        let result = try call.run { () throws(StoreError) in
            try storage.secrets.delete(
                call.secretName(group: SecretsDelete.accessGroup), ifRev: call.condition(SecretsDelete.ifRev),
                by: call.author(storage))
        }
        call.shows(result.rev)
        out.openObject()
        out.append(.rev, result.changed > 0 ? result.rev : 0)
        out.append(.deleted, result.changed > 0)
        out.closeObject()
    }

    static func restoreVersion(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        try call.checkInstallation(storage)
        let (result, version) = try call.run { () throws(StoreError) in
            try storage.secrets.restore(
                call.secretName(group: SecretsRestoreVersion.accessGroup),
                version: UInt32(clamping: call[SecretsRestoreVersion.version] ?? 0),
                ifRev: call.condition(SecretsRestoreVersion.ifRev), by: call.author(storage))
        }
        append(result, version, call, &out)
        out.closeObject()
    }

    /// The change is made at once; the request then waits until nothing is left of the version. Nothing is judged again, whatever others have
    /// changed meanwhile.
    static func destroyVersion(
        _ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage
    ) throws(Refusal) {
        try call.mustBeInOrder()
        try call.checkInstallation(storage)
        let rev = try call.run { () throws(StoreError) in
            try storage.secrets.destroy(
                call.secretName(group: SecretsDestroyVersion.accessGroup),
                version: UInt32(clamping: call[SecretsDestroyVersion.version] ?? 0),
                ifRev: call.condition(SecretsDestroyVersion.ifRev), by: call.author(storage)
            ).rev
        }
        guard let ticket = storage.awaitScrub(of: rev) else { return append(destroyed: rev, call, to: &out, storage) }
        call.noteNow(storage)
        throw call.wait(for: ticket, hasEffect: true) { (call, done: ScrubDone, error, out, storage) throws(Refusal) in
            call.audit.noted()
            switch error {
            case nil: append(destroyed: done.rev, call, to: &out, storage)
            case .noSpace?:
                throw .error(
                    RPCError(.noSpace, hint: "it is destroyed; what the disk still has of it goes when there is room"))
            case .overloaded?:
                throw .error(
                    RPCError(.overloaded, hint: "it is destroyed; what the disk still has of it goes later"))
            case .cancelled?:
                throw .error(
                    RPCError(.shuttingDown, hint: "it is destroyed; what the disk still has of it goes later"))
            case let error?: throw Refusal(error, call: call)
            }
        }
    }

    private static func append(
        destroyed rev: UInt64, _ call: Call, to out: inout ByteBuffer, _ storage: isolated Storage
    ) {
        call.append(rev: rev, to: &out)
        out.openList(.keptIn)
        out.append(element: Bytes("backups"))
        if storage.hasQuarantine { out.append(element: Bytes("quarantine")) }
        out.closeList()
        out.closeObject()
    }

    static func generate(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        let isReturned = call[SecretsGenerate.returnSecret]
        if isReturned, call.isOperation || call.reader.requestKey != nil {
            // The answer would be kept, in clear.
            throw .error(
                RPCError(
                    .invalidParams, hint: "not within a transaction, nor with requestKey: read it afterwards",
                    parameter: call.name(SecretsGenerate.returnSecret)))
        }
        let name = call.secretName(group: SecretsGenerate.accessGroup)
        try call.checkInstallation(storage)
        defer { call.memory.wipePlaintext() }
        let kind = try make(call)
        let options = try call.options(
            label: SecretsGenerate.label, attributes: SecretsGenerate.attributes,
            accessibility: SecretsGenerate.accessibility, deviceOnly: SecretsGenerate.deviceOnly,
            backup: SecretsGenerate.backup, expiresAt: SecretsGenerate.expiresAt,
            maxVersions: SecretsGenerate.maxVersions,
            storage)
        try store(kind, options, name, ifRev: SecretsGenerate.ifRev, call, &out, storage)
        if isReturned {
            out.wipes = true
            out.append(kind, call.memory.plaintext.bytes)
        }
        out.closeObject()
    }

    /// Makes what `kind`, `length` and `alphabet` say, into `plaintext`.
    private static func make(_ call: Call) throws(Refusal) -> SecretKind {
        let kind = call.has(SecretsGenerate.kind) ? call[SecretsGenerate.kind] : Bytes("password")
        func refuse(_ hint: StaticString, _ parameter: some Parameter) -> Refusal {
            .error(RPCError(.invalidParams, hint: hint, parameter: call.name(parameter)))
        }
        guard kind.equals("password") || !call.has(SecretsGenerate.alphabet) else {
            throw refuse("only passwords have an alphabet", SecretsGenerate.alphabet)
        }
        guard kind.equals("key") || !call.has(SecretsGenerate.algorithm) else {
            throw refuse("only keys have an algorithm", SecretsGenerate.algorithm)
        }
        if kind.equals("uuid") {
            guard !call.has(SecretsGenerate.length) else {
                throw refuse("a UUID has its own length", SecretsGenerate.length)
            }
            SecretsStore.generateUUID(into: &call.memory.plaintext)
            return .text
        }
        if kind.equals("key") {
            let length = Int(call[SecretsGenerate.length] ?? 32)
            guard length >= 16 else { throw refuse("a key has 16 bytes at least", SecretsGenerate.length) }
            guard length == 32 || !call.has(SecretsGenerate.algorithm) else {
                throw refuse("a key with an algorithm has 32 bytes", SecretsGenerate.length)
            }
            SecretsStore.generate(key: length, into: &call.memory.plaintext)
            return try call.keyKind(SecretsGenerate.algorithm, of: .binary)
        }
        let alphabet =
            call.has(SecretsGenerate.alphabet)
            ? call[SecretsGenerate.alphabet] : Bytes("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789")
        var known: (UInt64, UInt64) = (0, 0)
        for byte in alphabet {
            guard byte < 0x7F else { throw refuse("an alphabet is ASCII characters", SecretsGenerate.alphabet) }
            let bit = UInt64(1) << UInt64(byte & 63)
            guard (byte < 64 ? known.0 : known.1) & bit == 0 else {
                throw refuse("each character once", SecretsGenerate.alphabet)
            }
            if byte < 64 { known.0 |= bit } else { known.1 |= bit }
        }
        guard alphabet.count >= 2 else { throw refuse("at least two characters", SecretsGenerate.alphabet) }
        SecretsStore.generate(
            password: Int(call[SecretsGenerate.length] ?? 24), from: alphabet, into: &call.memory.plaintext)
        return .text
    }

    static func rename(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        try call.checkInstallation(storage)
        let result = try call.run { () throws(StoreError) in
            try storage.secrets.rename(
                call.secretName(group: SecretsRename.accessGroup), to: call[SecretsRename.newAccount],
                ifRev: call.condition(SecretsRename.ifRev), by: call.author(storage))
        }
        call.append(rev: result.rev, to: &out)
        out.closeObject()
    }

    static func setAttributes(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        try call.checkInstallation(storage)
        let options = try call.options(
            label: SecretsSetAttributes.label, attributes: SecretsSetAttributes.attributes,
            accessibility: SecretsSetAttributes.accessibility, deviceOnly: nil, backup: SecretsSetAttributes.backup,
            expiresAt: SecretsSetAttributes.expiresAt, maxVersions: SecretsSetAttributes.maxVersions, storage
        )
        let result = try call.run { () throws(StoreError) in
            try storage.secrets.setOptions(
                call.secretName(group: SecretsSetAttributes.accessGroup), options,
                ifRev: call.condition(SecretsSetAttributes.ifRev), by: call.author(storage))
        }
        call.append(rev: result.rev, to: &out)
        out.closeObject()
    }

    static func configure(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        let result = try call.run { () throws(StoreError) in
            try storage.secrets.configure(
                service: call[SecretsConfigure.service],
                maxVersions: call[SecretsConfigure.maxVersions].map { Int($0) },
                installation: call.has(SecretsConfigure.installation) ? call[SecretsConfigure.installation] : nil,
                auditsEachRead: call.has(SecretsConfigure.auditReads)
                    ? call[SecretsConfigure.auditReads].equals("each") : nil,
                by: call.author(storage))
        }
        call.append(rev: result.rev, to: &out)
        out.closeObject()
    }

    static func clear(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        let (service, confirmation) = (call[SecretsClear.service], call[SecretsClear.confirm])
        var isConfirmed = confirmation.equals(service)
        try call.run { () throws(StoreError) in
            try storage.secrets.describe(service: service) { known in
                if !known.installation.isEmpty { isConfirmed = confirmation.equals(known.installation) }
            }
        }
        guard isConfirmed else {
            throw .error(
                RPCError(
                    .invalidParams, hint: "the service's installation, or its name when it has none",
                    parameter: call.name(SecretsClear.confirm)))
        }
        // Secrets in groups that nobody has granted stay.
        let isTheirs = { (group: Bytes) in
            call.shows([.list, .delete], .secrets, service: service, group: .of(group))
        }
        let isBound = call.connection?.permissions != nil
        let (result, left) = try call.run { () throws(StoreError) in
            try storage.secrets.clear(
                service: service, most: WireLimits.secretsPage, where: isBound ? isTheirs : nil,
                by: call.author(storage))
        }
        call.shows(result.rev)
        out.openObject()
        out.append(.rev, result.changed > 0 ? result.rev : 0)
        out.append(.deleted, result.changed)
        out.append(.left, left)
        out.closeObject()
    }
}
