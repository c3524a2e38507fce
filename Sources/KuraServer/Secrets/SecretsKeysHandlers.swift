import Glibc
import KuraBytes
import KuraProtocol
import KuraStorage
import KuraTransport

/// Answers the methods about the keys of the secrets. What takes files or a passphrase's hash is a job on a thread: the request waits, and goes on
/// when the job is done.
extension SecretsHandlers {
    // MARK: Reading

    static func status(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        let keys = storage.keys
        out.openObject()
        out.append(.state, keys.word)
        if case .unusable(let fault) = keys.state { out.append(.reason, fault.reason) }
        out.append(.hasBeenUnlocked, keys.hasBeenUnlocked)
        out.append(.memoryLocked, keys.isMemoryLocked)
        if let renewedAt = storage.hostKeyRenewedAt { out.append(.hostKeyRenewedAt, renewedAt) }
        if storage.hasStrayRootKey { out.append(.rootKeyUnneeded, true) }
        if keys.hostKey == nil { out.append(.hostKeyUnusable, true) }
        out.append(.slots, keys.allSlots.count)
        if let integrity = storage.secrets.integrity { out.append(.integrity, integrity.word) }
        // They change with each secret of each service.
        if call.seesEverySecret, let chain = try? storage.secrets.chainHead() {
            out.append(.chainHead, hexadecimal: chain.head)
            out.append(.chainLength, chain.changes)
            call.shows(storage.rev)
        }
        if let progress = storage.secrets.rewrapProgress {
            out.openObject(.rewrapping)
            out.append(.done, progress.done)
            out.append(.total, progress.total)
            out.closeObject()
        }
        if storage.isScrubOwed { out.append(.scrubbing, true) }
        if keys.epoch > 0 {
            out.append(.storeId, hexadecimal: keys.storeID)
            out.append(.keyEpoch, keys.epoch)
        }
        if call.has(SecretsStatus.service), keys.isUnlocked {
            let service = call[SecretsStatus.service]
            if call.shows(.list, .secrets, service: service, group: .any),
                try call.isOfOtherInstallation(service, storage)
            {
                out.append(.installationMismatch, true)
            }
        }
        if let publicKey = keys.publicKey { publicKey.withBytes { out.append(.publicKey, base64: $0) } }
        out.closeObject()
    }

    static func slots(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        let keys = storage.keys
        guard keys.epoch > 0 else {
            if case .unusable(let fault) = keys.state { throw Refusal(keys: fault, call: call) }
            throw .error(RPCError(.sealed))
        }
        out.openObject()
        out.openList(.slots)
        for slot in keys.allSlots { out.append(slot) }
        out.closeList()
        out.append(.keyEpoch, keys.epoch)
        out.openList(.retiredEpochs)
        for epoch in keys.retiredEpochs {
            out.beginElement()
            out.append(unsigned: UInt64(epoch))
        }
        out.closeList()
        out.closeObject()
    }

    // MARK: Changing

    static func addSlot(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        guard let kind = KeySlot.Kind(rawValue: String(call[SecretsAddSlot.kind])) else {
            throw .error(RPCError(.invalidParams, parameter: call.name(SecretsAddSlot.kind)))
        }
        guard (kind == .passphrase) == call.has(SecretsAddSlot.newPassphrase),
            !call.has(SecretsAddSlot.newPassphrase) || call[SecretsAddSlot.newPassphrase].count > 0
        else {
            throw .error(
                RPCError(
                    .invalidParams,
                    hint: "a passphrase slot has a passphrase that is not empty, no other slot has one",
                    parameter: call.name(SecretsAddSlot.newPassphrase)))
        }
        let label = call.has(SecretsAddSlot.label) ? Array(call[SecretsAddSlot.label]) : []
        guard !label.contains(where: { $0 < 0x20 || $0 == 0x7F }) else {
            throw .error(
                RPCError(.invalidParams, hint: "no control characters", parameter: call.name(SecretsAddSlot.label)))
        }
        let job = KeyJob(
            .addSlot(kind, label: label),
            passphrase: call.has(SecretsAddSlot.newPassphrase) ? call[SecretsAddSlot.newPassphrase] : nil)
        throw try call.wait(for: job, storage) { (job, call, out, storage) throws(Refusal) in
            try append(job, call, to: &out, storage)
        }
    }

    static func removeSlot(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        let id = UInt32(truncatingIfNeeded: call[SecretsRemoveSlot.slot] ?? 0)
        throw try call.wait(for: KeyJob(.removeSlot(id)), storage) { (job, call, out, storage) throws(Refusal) in
            try append(job, call, to: &out, storage)
        }
    }

    static func changePassphrase(
        _ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage
    ) throws(Refusal) {
        guard call[SecretsChangePassphrase.newPassphrase].count > 0 else {
            throw .error(
                RPCError(
                    .invalidParams, hint: "not empty", parameter: call.name(SecretsChangePassphrase.newPassphrase)))
        }
        let job = KeyJob(
            .changePassphrase, passphrase: call[SecretsChangePassphrase.passphrase],
            newPassphrase: call[SecretsChangePassphrase.newPassphrase])
        throw try call.wait(for: job, storage) { (job, call, out, _) throws(Refusal) in
            guard job.fault == nil, let slot = job.slot else { throw Refusal(keys: job.fault ?? .sealed, call: call) }
            out.openObject()
            out.append(name: ObjectMember.slot)
            out.append(slot)
            out.closeObject()
        }
    }

    static func unlock(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        let job = KeyJob(.unlock, passphrase: call.has(SecretsUnlock.passphrase) ? call[SecretsUnlock.passphrase] : nil)
        throw try call.wait(for: job, storage) { (job, call, out, _) throws(Refusal) in
            switch job.fault {
            case nil: break
            // Said of the sources: there was nothing to open with.
            case .noSuchSource(let what): throw .error(RPCError(.wrongKey, hint: what.text))
            case .sealed where !call.has(SecretsUnlock.passphrase):
                throw .error(RPCError(.wrongKey, hint: "there are passphrase slots only: say one"))
            case let fault?: throw Refusal(keys: fault, call: call)
            }
            // They were then, whoever has locked them since.
            out.openObject()
            out.append(.state, word: "unlocked")
            if let slot = job.slot { out.append(.slot, slot.id) }
            out.closeObject()
        }
    }

    static func lock(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        // While there are keys to seal it with.
        call.noteNow(storage)
        storage.stageAuditNow()
        storage.lockKeys()
        out.openObject()
        out.append(.state, word: "sealed")
        out.closeObject()
    }

    static func rotate(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        guard call.has(SecretsRotate.service) else { throw try rotateRootKey(call, storage) }
        for other in 0...1 where call.reader.has(other) {
            throw .error(RPCError(.invalidParams, hint: "one thing at a time", parameter: call.reader.name(other)))
        }
        try call.mustBeInOrder()
        let rev: UInt64
        do throws(StoreError) {
            rev = try storage.secrets.rotate(service: call[SecretsRotate.service], by: call.author(storage)).rev
        } catch {
            guard error == .overloaded else { throw Refusal(error, call: call) }
            throw .error(RPCError(.overloaded, hint: "the service's last rotation is still under way"))
        }
        try tell(rotatedAt: rev, call, &out, storage)
    }

    private static func rotateRootKey(_ call: Call, _ storage: isolated Storage) throws(Refusal) -> Refusal {
        guard call[SecretsRotate.rootKey] else {
            throw .error(
                RPCError(
                    .invalidParams, hint: "say what: rootKey true, or a service",
                    parameter: call.name(SecretsRotate.rootKey)))
        }
        let job = KeyJob(.rotate, passphrase: call.has(SecretsRotate.passphrase) ? call[SecretsRotate.passphrase] : nil)
        return try call.wait(for: job, storage) { (job, call, out, storage) throws(Refusal) in
            if let fault = job.fault { throw Refusal(keys: fault, call: call) }
            try tell(rotatedAt: nil, call, &out, storage)
        }
    }

    /// Tells of a rotation, with `waitMs` once everything is sealed anew. Nobody can take it back: it is told as well when the wait ends because
    /// the secrets are locked, or the daemon stops.
    private static func tell(
        rotatedAt rev: UInt64?, _ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage
    ) throws(Refusal) {
        guard let ticket = awaitRewrapping(call, storage) else {
            return append(rotatedAt: rev, to: &out, call, storage)
        }
        call.noteNow(storage)
        throw call.wait(for: ticket, hasEffect: true) { (call, out, storage) in
            call.audit.noted()
            append(rotatedAt: rev, to: &out, call, storage)
        }
    }

    /// `rev`: of the change that has given a service its key; nil for the root key.
    private static func append(
        rotatedAt rev: UInt64?, to out: inout ByteBuffer, _ call: Call, _ storage: isolated Storage
    ) {
        out.openObject()
        out.append(.keyEpoch, storage.keys.epoch)
        let service = rev.map { _ in call[SecretsRotate.service] }
        if var rev, let service {
            // Of the service's last change, which is this one when the request has not waited; of this one too when its record cannot be opened
            // any more.
            do throws(StoreError) { try storage.secrets.describe(service: service) { rev = $0.rev } } catch {}
            call.shows(rev)
            out.append(.rev, rev)
        }
        if storage.hasToRewrap(service: service) { out.append(.rewrapping, true) }
        if service == nil { append(kept: storage.keys.allSlots, to: &out) }
        out.closeObject()
    }

    /// The member `keptSlots`, when there are some: a rotation changes the key of keys/root.key alone.
    private static func append(kept slots: [KeySlot], to out: inout ByteBuffer) {
        guard slots.contains(where: { $0.kind.change != nil }) else { return }
        out.openList(.keptSlots)
        for slot in slots {
            guard let change = slot.kind.change else { continue }
            out.openObject()
            out.append(.id, slot.id)
            out.append(.kind, slot.kind.rawValue)
            out.append(.change, word: change)
            out.closeObject()
        }
        out.closeList()
    }

    /// With `waitMs` the request waits until everything is sealed anew, and is told how far it is.
    /// - Returns: what it waits with; nil when there is nothing to wait for.
    private static func awaitRewrapping(_ call: Call, _ storage: isolated Storage) -> UInt64? {
        guard call.connection != nil, let milliseconds = call[SecretsRotate.waitMs], milliseconds > 0 else {
            return nil
        }
        let service = call.has(SecretsRotate.service) ? call[SecretsRotate.service] : nil
        return storage.awaitRewrapping(service: service, milliseconds: Int(milliseconds))
    }

    /// The slot that came or went, and how many there are.
    private static func append(
        _ job: KeyJob, _ call: Call, to out: inout ByteBuffer, _ storage: isolated Storage
    ) throws(Refusal) {
        guard job.fault == nil, let slot = job.slot else { throw Refusal(keys: job.fault ?? .sealed, call: call) }
        out.openObject()
        out.append(name: ObjectMember.slot)
        out.append(slot)
        out.append(.slots, storage.keys.allSlots.count)
        out.closeObject()
    }
}

extension Call {
    /// Has a job done; the request goes on with it.
    ///
    /// A job is begun once for each request, whatever becomes of turns: it changes files.
    func wait(
        for job: KeyJob, _ storage: isolated Storage,
        then proceed:
            @escaping @Sendable (KeyJob, Call, inout ByteBuffer, isolated Storage) throws(Refusal) -> Void
    ) throws(Refusal) -> Refusal {
        try keepTurn(waits: true)
        let ticket: UInt64
        do throws(KeysFault) { ticket = try storage.submit(job) } catch { throw Refusal(keys: error, call: self) }
        return wait(for: ticket, hasEffect: true) { (call, job: KeyJob, _, out, storage) throws(Refusal) in
            try proceed(job, call, &out, storage)
        }
    }
}

extension KeyRing {
    /// The state as the wire calls it.
    var word: String {
        switch state {
        case .sealed: "sealed"
        case .unlocked: "unlocked"
        case .unusable: "unusable"
        }
    }
}

extension SecretsStore.Integrity {
    fileprivate var word: String {
        switch self {
        case .checking: "checking"
        case .whole: "whole"
        case .damaged: "damaged"
        }
    }
}

extension KeysFault {
    /// For `secrets.status`: no paths.
    fileprivate var reason: String {
        switch self {
        case .damaged(let what): "keys/slots.json: \(what.text)"
        case .noSuchSource(let what): "\(what.text)"
        case .noSpace: "the disk is full"
        default: "the files of the keys cannot be read or written; the log says why"
        }
    }
}

extension Refusal {
    /// A fault of the keys in the words of the wire.
    init(keys fault: KeysFault, call: Call) {
        switch fault {
        case .sealed: self = .error(RPCError(.sealed))
        case .lockedMeanwhile:
            self = .error(RPCError(.sealed, hint: "the key is right, and somebody has locked them meanwhile"))
        case .damaged(let what): self = .error(RPCError(.integrity, hint: what.text))
        case .wrongKey: self = .error(RPCError(.wrongKey))
        case .noSuchSlot: self = .error(RPCError(.notFound))
        case .lastSlot:
            self = .error(
                RPCError(
                    .invalidParams, hint: "it is the last slot: add another one first",
                    parameter: call.name(SecretsRemoveSlot.slot)))
        case .tooManySlots: self = .error(RPCError(.quotaExceeded, hint: "slots, or root keys that are still in use"))
        case .slotExists:
            self = .error(
                RPCError(
                    .invalidParams, hint: "there is a slot of that kind", parameter: call.name(SecretsAddSlot.kind)))
        case .keyFileExists:
            self = .error(
                RPCError(
                    .invalidParams,
                    hint: "keys/ has a root.key that may be the key of another slots.json: move it elsewhere first",
                    parameter: call.name(SecretsAddSlot.kind)))
        case .noSuchSource(let what):
            // A method without the parameter `kind` meets this when the daemon cannot make its first slots.
            guard let kind = call.reader.position(of: "kind") else {
                self = .error(RPCError(.sealed, hint: what.text))
                return
            }
            self = .error(RPCError(.invalidParams, hint: what.text, parameter: call.reader.name(kind)))
        case .keysNeeded(let slots):
            var error = RPCError(
                .wrongKey,
                hint: "the key of every slot is needed: say the passphrase, or remove those of `reason` first")
            let names = slots.map { String($0) }.joined(separator: ", ")
            call.errorTexts.explain(&error, "slots " + names)
            self = .error(error)
        case .noRoom(let bytes):
            self = .error(
                RPCError(
                    .overloaded, hint: "hashing the passphrase takes `limit` bytes of memory, and they are not free",
                    limit: bytes))
        case .busy: self = .error(RPCError(.overloaded, hint: "too many passphrases wait to be hashed"))
        case .outOfMemory: self = .error(RPCError(.overloaded, hint: "no memory for keys"))
        case .noSpace: self = .error(RPCError(.noSpace))
        case .unsynced:
            self = .error(
                RPCError(.internalError, hint: "the new slots are in their place, and may be gone after a power cut"))
        case .ending: self = .error(RPCError(.shuttingDown))
        case .system(let code, _, _) where [EMFILE, ENFILE, ENOMEM].contains(code):
            self = .error(RPCError(.overloaded, hint: "too many files are open, or memory is short"))
        case .noSuchEpoch, .system:
            self = .error(
                RPCError(.internalError, hint: "the files of the keys could not be read or written; the log says why"))
        }
    }
}

extension ByteBuffer {
    /// A slot as the wire shows it.
    fileprivate mutating func append(_ slot: KeySlot) {
        openObject()
        append(.id, slot.id)
        append(.kind, slot.kind.rawValue)
        append(.label, slot.label)
        append(.createdAt, slot.createdAt)
        if let cost = slot.cost {
            append(.passes, cost.passes)
            append(.memoryBytes, cost.memoryBytes)
        }
        closeObject()
    }

    mutating func append(hexadecimal bytes: Bytes) {
        let digits = Bytes("0123456789abcdef")
        for byte in bytes {
            append(digits[Int(byte >> 4)])
            append(digits[Int(byte & 15)])
        }
    }
}

extension KeySlot.Kind {
    /// How somebody gives a slot of this kind another key; nil: a rotation does.
    fileprivate var change: StaticString? {
        switch self {
        case .keyFile: nil
        case .passphrase: "secrets.changePassphrase"
        case .credential:
            "secrets.addSlot keyFile and removeSlot; another kura.key as the credential; start; addSlot credential"
        case .container:
            "secrets.addSlot keyFile and removeSlot; another key in secrets.keyFile; start; addSlot container"
        case .descriptor:
            "secrets.addSlot keyFile and removeSlot; start with another key for --key-fd; addSlot descriptor"
        }
    }
}
