import KuraBytes
import KuraProtocol
import KuraStorage

/// Answers what changes secrets. Numbers of parameters are positions in the method table.
enum SecretsChanges {
    static func put(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        let name = call.secretName(group: 9)
        try call.checkInstallation(storage)
        defer { call.wipePlaintext() }
        let kind = try call.keyKind(14, of: call.readSecret(2, base64: 3, sealed: 4, name, storage))
        let options = try call.options(
            label: 5, attributes: 6, accessibility: 7, deviceOnly: 8, backup: 10, expiresAt: 11, maxVersions: 12,
            storage)
        try store(kind, options, name, ifRev: 13, call, &out, storage)
        out.append("}")
    }

    /// Stores what is in `plaintext`. `{"rev":N,"version":N`; the caller closes the object.
    private static func store(
        _ kind: SecretKind, _ options: SecretOptions, _ name: SecretName, ifRev: Int, _ call: Call,
        _ out: inout ByteBuffer, _ storage: isolated Storage
    ) throws(Refusal) {
        let value = call.plaintext.bytes
        let (result, version) = try call.run { () throws(StoreError) in
            try storage.secrets.put(name, NewSecret(kind, value, options), ifRev: call.condition(ifRev))
        }
        append(result, version, call, &out)
    }

    private static func append(_ result: WriteResult, _ version: UInt32, _ call: Call, _ out: inout ByteBuffer) {
        call.append(rev: result.rev, to: &out)
        out.append(",\"version\":")
        out.append(unsigned: UInt64(version))
    }

    static func delete(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        try call.checkInstallation(storage)
        let result = try call.run { () throws(StoreError) in
            try storage.secrets.delete(call.secretName(group: 3), ifRev: call.condition(2))
        }
        call.shows(result.rev)
        out.append("{\"rev\":")
        out.append(unsigned: result.changed > 0 ? result.rev : 0)
        out.append(result.changed > 0 ? ",\"deleted\":true}" : ",\"deleted\":false}")
    }

    static func restore(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        try call.checkInstallation(storage)
        let (result, version) = try call.run { () throws(StoreError) in
            try storage.secrets.restore(
                call.secretName(group: 4), version: UInt32(clamping: call.reader.integer(2) ?? 0),
                ifRev: call.condition(3))
        }
        append(result, version, call, &out)
        out.append("}")
    }

    /// The change is made at once; the request then waits until nothing is left of the version. What it is begun again with says that it has been
    /// done: nothing is judged again, whatever others have changed meanwhile.
    static func destroyVersion(
        _ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage
    ) throws(Refusal) {
        let rev: UInt64
        if let answer = call.takeAnswer(), let done = answer.query as? ScrubDone {
            rev = done.rev
            call.isNoted = true
            switch answer.error {
            case nil: break
            case .noSpace?:
                throw .error(
                    RPCError(.noSpace, hint: "it is destroyed; what the disk still has of it goes when there is room"))
            case let error?:
                throw error == .overloaded
                    ? .error(RPCError(.overloaded, hint: "it is destroyed; what the disk still has of it goes later"))
                    : Refusal(error, call: call)
            }
        } else {
            try call.checkInstallation(storage)
            rev = try call.run { () throws(StoreError) in
                try storage.secrets.destroy(
                    call.secretName(group: 4), version: UInt32(clamping: call.reader.integer(2) ?? 0),
                    ifRev: call.condition(3)
                ).rev
            }
            if let ticket = storage.awaitScrub(of: rev) {
                call.noteNow(storage)
                throw .query(ticket: ticket)
            }
        }
        call.append(rev: rev, to: &out)
        out.append(",\"keptIn\":[\"backups\"")
        if storage.hasQuarantine { out.append(",\"quarantine\"") }
        out.append("]}")
    }

    static func generate(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        let reader = call.reader
        let isReturned = reader.boolean(5)
        if isReturned, call.isOperation || reader.requestKey != nil {
            // The answer would be kept, in clear.
            throw .error(
                RPCError(
                    .invalidParams, hint: "not within a transaction, nor with requestKey: read it afterwards",
                    parameter: reader.name(5)))
        }
        let name = call.secretName(group: 10)
        try call.checkInstallation(storage)
        defer { call.wipePlaintext() }
        let kind = try make(call)
        let options = try call.options(
            label: 6, attributes: 7, accessibility: 8, deviceOnly: 9, backup: 11, expiresAt: 12, maxVersions: 13,
            storage)
        try store(kind, options, name, ifRev: 14, call, &out, storage)
        if isReturned {
            out.wipes = true
            out.append(",")
            out.append(kind, call.plaintext.bytes)
        }
        out.append("}")
    }

    /// Makes what `kind`, `length` and `alphabet` say, into `plaintext`.
    private static func make(_ call: Call) throws(Refusal) -> SecretKind {
        let reader = call.reader
        let kind = reader.has(2) ? reader.string(2) : Bytes("password")
        func refuse(_ hint: StaticString, _ parameter: Int) -> Refusal {
            .error(RPCError(.invalidParams, hint: hint, parameter: reader.name(parameter)))
        }
        guard kind.equals("password") || !reader.has(4) else {
            throw refuse("only passwords have an alphabet", 4)
        }
        guard kind.equals("key") || !reader.has(15) else { throw refuse("only keys have an algorithm", 15) }
        if kind.equals("uuid") {
            guard !reader.has(3) else { throw refuse("a UUID has its own length", 3) }
            SecretsStore.generateUUID(into: &call.plaintext)
            return .text
        }
        if kind.equals("key") {
            let length = Int(reader.integer(3) ?? 32)
            guard length >= 16 else { throw refuse("a key has 16 bytes at least", 3) }
            guard length == 32 || !reader.has(15) else { throw refuse("a key with an algorithm has 32 bytes", 3) }
            SecretsStore.generate(key: length, into: &call.plaintext)
            return try call.keyKind(15, of: .binary)
        }
        let alphabet =
            reader.has(4)
            ? reader.string(4) : Bytes("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789")
        var known: (UInt64, UInt64) = (0, 0)
        for byte in alphabet {
            guard byte < 0x7F else { throw refuse("an alphabet is ASCII characters", 4) }
            let bit = UInt64(1) << UInt64(byte & 63)
            guard (byte < 64 ? known.0 : known.1) & bit == 0 else { throw refuse("each character once", 4) }
            if byte < 64 { known.0 |= bit } else { known.1 |= bit }
        }
        guard alphabet.count >= 2 else { throw refuse("at least two characters", 4) }
        SecretsStore.generate(password: Int(reader.integer(3) ?? 24), from: alphabet, into: &call.plaintext)
        return .text
    }

    static func rename(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        try call.checkInstallation(storage)
        let result = try call.run { () throws(StoreError) in
            try storage.secrets.rename(
                call.secretName(group: 4), to: call.reader.string(2), ifRev: call.condition(3))
        }
        call.append(rev: result.rev, to: &out)
        out.append("}")
    }

    static func setAttributes(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        try call.checkInstallation(storage)
        let options = try call.options(
            label: 2, attributes: 3, accessibility: 4, deviceOnly: nil, backup: 5, expiresAt: 6, maxVersions: 7, storage
        )
        let result = try call.run { () throws(StoreError) in
            try storage.secrets.setOptions(call.secretName(group: 9), options, ifRev: call.condition(8))
        }
        call.append(rev: result.rev, to: &out)
        out.append("}")
    }

    static func configure(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        let reader = call.reader
        let result = try call.run { () throws(StoreError) in
            try storage.secrets.configure(
                service: reader.string(0), maxVersions: reader.integer(1).map { Int($0) },
                installation: reader.has(2) ? reader.string(2) : nil,
                auditsEachRead: reader.has(3) ? reader.string(3).equals("each") : nil)
        }
        call.append(rev: result.rev, to: &out)
        out.append("}")
    }

    static func clear(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        let (service, confirmation) = (call.reader.string(0), call.reader.string(1))
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
                    parameter: call.reader.name(1)))
        }
        // Secrets in groups that nobody has granted stay.
        let isTheirs = { (group: Bytes) in
            call.shows([.list, .delete], .secrets, service: service, group: .of(group))
        }
        let isBound = call.connection?.permissions != nil
        let (result, left) = try call.run { () throws(StoreError) in
            try storage.secrets.clear(
                service: service, most: WireLimits.secretsPage, where: isBound ? isTheirs : nil)
        }
        call.shows(result.rev)
        out.append("{\"rev\":")
        out.append(unsigned: result.changed > 0 ? result.rev : 0)
        out.append(",\"deleted\":")
        out.append(integer: Int64(result.changed))
        out.append(",\"left\":")
        out.append(integer: Int64(left))
        out.append("}")
    }
}
