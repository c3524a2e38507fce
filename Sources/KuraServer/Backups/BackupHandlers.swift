import Glibc
import KuraBytes
import KuraProtocol
import KuraSocket
import KuraStorage

/// Making backups and bundles: the request is checked here, the work is done by a thread.
extension StorageHandlers {
    static func backup(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        guard let connection = call.connection else { throw .error(RPCError(.internalError)) }
        try call.awaitAudit(storage)
        // Taken first, whatever else is wrong: the next request's descriptor is another one.
        let taken = call[StorageBackup.fd] ? connection.descriptors.take() : .missing
        guard call[StorageBackup.fd] != call.has(StorageBackup.name) else {
            throw .error(
                RPCError(
                    .invalidParams, hint: "give one of name and fd: true", parameter: call.name(StorageBackup.name)))
        }
        var request = BackupRequest()
        if call.has(StorageBackup.recipients) { request.locks.recipients = try recipients(call) }
        if call.has(StorageBackup.include) {
            request.selection = try BackupsHandlers.selection(call, StorageBackup.include)
        }
        let passphrase = Array(call[StorageBackup.passphrase])
        guard !call.has(StorageBackup.passphrase) || !passphrase.isEmpty else {
            throw .error(RPCError(.invalidParams, hint: "not empty", parameter: call.name(StorageBackup.passphrase)))
        }
        if call.has(StorageBackup.recipients) || call.has(StorageBackup.passphrase), request.selection.hasSecrets {
            try demandSecrets(call, storage)
        }
        try begin(request, to: target(call, taken, isPassed: call[StorageBackup.fd]), passphrase, call, storage)
    }

    /// What is encrypted to a key of the request's own has the root key in it: whoever opens it reads every secret.
    /// - Throws: `forbidden` for a role that may not.
    private static func demandSecrets(_ call: Call, _ storage: isolated Storage) throws(Refusal) {
        guard let missing = call.connection?.permissions?.missingForRootKey else { return }
        call.note(.backup, .forbidden, storage)
        throw .error(.forbidden(missing))
    }

    static func bundle(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        guard let connection = call.connection else { throw .error(RPCError(.internalError)) }
        let taken = call[StorageBundle.fd] ? connection.descriptors.take() : .missing
        guard call[StorageBundle.fd] != call.has(StorageBundle.name) else {
            throw .error(
                RPCError(
                    .invalidParams, hint: "give one of name and fd: true", parameter: call.name(StorageBundle.name)))
        }
        var request = BackupRequest()
        request.isBundle = true
        request.selection =
            call.has(StorageBundle.include)
            ? try BackupsHandlers.selection(call, StorageBundle.include, isBundle: true)
            : BackupSelection(isBundle: true)
        if let missing = connection.permissions?.missing(forModelsOf: request.selection) {
            throw .error(.forbidden(missing))
        }
        try begin(request, to: target(call, taken, isPassed: call[StorageBundle.fd]), [], call, storage)
    }

    fileprivate static func target(
        _ call: Call, _ taken: DescriptorQueue.Taken, isPassed: Bool
    ) throws(Refusal) -> BackupTransfer.Target {
        guard isPassed else { return .file(try BackupsHandlers.name(call, InStorage.name)) }
        return .descriptor(TransferEnd(try call.passed(taken, fd: 1)))
    }

    private static func begin(
        _ request: BackupRequest, to target: BackupTransfer.Target, _ passphrase: [UInt8], _ call: Call,
        _ storage: isolated Storage
    ) throws(Refusal) {
        try call.refuseUnlessTransferFree()
        let run: BackupRun
        do throws(BackupFault) { run = try storage.backup(request) } catch {
            if error == .secretsLocked { call.note(.backup, .sealed, storage) }
            throw .error(RPCError(backup: error))
        }
        let transfer = BackupTransfer(run, request, to: target, passphrase: passphrase, storage.configuration)
        if run.hasSecrets {
            try call.auditBackup(storage)
            // The record is in the tables, and so on the disk, before anything is written.
            transfer.folded.foldedTo = storage.rev
        }
        // It waits for the newest change, which goes with this turn when that is taken back.
        call.shows(storage.rev)
        _ = storage.submit(transfer.folded)
        throw .transfer(transfer)
    }

    private static func recipients(_ call: Call) throws(Refusal) -> [[UInt8]] {
        var keys: [[UInt8]] = []
        try call.forEachName(of: StorageBackup.recipients, limit: 32) { (text) throws(Refusal) in
            var key = ByteBuffer()
            guard Base64.decode(text, into: &key), key.count == 32 else {
                throw .error(
                    RPCError(
                        .invalidParams, hint: "an X25519 public key: 32 bytes as base64",
                        parameter: call.name(StorageBackup.recipients), index: keys.count))
            }
            keys.append(Array(key.bytes))
        }
        guard !keys.isEmpty else {
            throw .error(
                RPCError(
                    .invalidParams, hint: "nobody could open it: name a recipient, or leave the list out",
                    parameter: call.name(StorageBackup.recipients)))
        }
        return keys
    }
}

/// Lists, verifies, compares and prunes backups.
extension BackupsHandlers {
    static func list(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        try call.refuseUnlessTransferFree()
        let configuration = storage.configuration
        throw .transfer(BackupsJob { (_) throws(BackupFault) in try BackupsJob.list(configuration) })
    }

    static func verify(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        let name = try name(call, BackupsVerify.name)
        var opener = BackupOpener()
        opener.memory = storage.configuration.keys.memory
        opener.originKey = storage.keys.originKey
        if call.has(BackupsVerify.passphrase) { opener.passphrase = Array(call[BackupsVerify.passphrase]) }
        try call.refuseUnlessTransferFree()
        let (configuration, key) = (storage.configuration, opener)
        throw .transfer(
            BackupsJob { (channel) throws(BackupFault) in
                try BackupsJob.verify(name, key, configuration, channel)
            })
    }

    static func compare(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        guard let connection = call.connection else { throw .error(RPCError(.internalError)) }
        let taken = call[BackupsCompare.fd] ? connection.descriptors.take() : .missing
        guard call[BackupsCompare.fd] != call.has(BackupsCompare.name) else {
            throw .error(
                RPCError(
                    .invalidParams, hint: "give one of name and fd: true", parameter: call.name(BackupsCompare.name)))
        }
        var opener = BackupOpener()
        opener.memory = storage.configuration.keys.memory
        opener.originKey = storage.keys.originKey
        if call.has(BackupsCompare.passphrase) { opener.passphrase = Array(call[BackupsCompare.passphrase]) }
        let wanted =
            call.has(BackupsCompare.include) ? try selection(call, BackupsCompare.include) : BackupSelection()
        guard !wanted.names("secrets") else {
            throw .error(
                RPCError(
                    .invalidParams, hint: "secrets are sealed on both sides, and cannot be compared",
                    parameter: call.name(BackupsCompare.include)))
        }
        let target = try StorageHandlers.target(call, taken, isPassed: call[BackupsCompare.fd])
        let (configuration, key) = (storage.configuration, opener)
        try call.refuseUnlessTransferFree()
        let comparison = BackupComparison(wanted, examples: Int(call[BackupsCompare.examples] ?? 3), configuration)
        let folded = FoldSignal()
        folded.foldedTo = storage.rev
        // It waits for the newest change, which goes with this turn when that is taken back.
        call.shows(storage.rev)
        _ = storage.submit(folded)
        throw .transfer(
            BackupsJob(folded: folded) { (channel) throws(BackupFault) in
                try BackupsJob.compare(comparison, target, key, configuration, channel)
            })
    }

    static func prune(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        var keep = call.server.backupsKeep
        if let hourly = call[BackupsPrune.hourly] { keep.hourly = Int(hourly) }
        if let daily = call[BackupsPrune.daily] { keep.daily = Int(daily) }
        if let weekly = call[BackupsPrune.weekly] { keep.weekly = Int(weekly) }
        var names: [String]?
        if call.has(BackupsPrune.names) {
            var list: [String] = []
            var index = 0
            try call.forEachName(of: BackupsPrune.names, limit: 1000) { (name) throws(Refusal) in
                let name = String(name)
                guard BackupDirectory.isName(name) else {
                    throw .error(badName(call, BackupsPrune.names).at(index: index))
                }
                list.append(name)
                index += 1
            }
            names = list
        }
        try call.refuseUnlessTransferFree()
        let (configuration, isDry, kept, wanted) = (storage.configuration, call[BackupsPrune.dryRun], keep, names)
        let recoveredAt = storage.start.boot.recoveredAt
        throw .transfer(
            BackupsJob { (_) throws(BackupFault) in
                try BackupsJob.prune(wanted, keeping: kept, sparing: recoveredAt, isDry: isDry, configuration)
            })
    }

    // MARK: Parameters

    private static func badName(_ call: Call, _ parameter: some Parameter) -> RPCError {
        RPCError(
            .invalidParams, hint: "a backup's name: letters, digits, dots, dashes and underscores, not a dot first",
            parameter: call.name(parameter))
    }

    fileprivate static func name(_ call: Call, _ parameter: TextParameter) throws(Refusal) -> String {
        let name = String(call[parameter])
        guard BackupDirectory.isName(name) else { throw .error(badName(call, parameter)) }
        return name
    }

    fileprivate static func selection(
        _ call: Call, _ parameter: JSONParameter, isBundle: Bool = false
    ) throws(Refusal) -> BackupSelection {
        var words: [[UInt8]] = []
        try call.forEachName(of: parameter, limit: 256) { (word) throws(Refusal) in words.append(Array(word)) }
        do throws(BackupFault) {
            guard !words.isEmpty else { throw .refused("") }
            return try BackupSelection(words, isBundle: isBundle)
        } catch {
            let hint = isBundle ? Method.Store.bundleHint : Method.Store.backupHint
            throw .error(RPCError(.invalidParams, hint: hint, parameter: call.name(parameter)))
        }
    }
}

extension RPCError {
    /// A backup's fault in the words of the wire.
    init(backup fault: BackupFault) {
        switch fault {
        case .secretsLocked:
            self.init(
                .sealed, hint: "which secrets belong into a backup cannot be told: unlock them, or leave them out")
        // One that its client has ended says so instead (`TransferChannel.judged`).
        case .cancelled: self.init(.shuttingDown)
        case .noSpace: self.init(.noSpace, hint: "there is no room for the backup, nor for what changes meanwhile")
        case .outOfMemory: self.init(.overloaded, hint: "there is no memory for hashing the passphrase")
        case .keysChanged:
            self.init(.overloaded, hint: "the keys of the secrets were made or changed meanwhile: begin anew")
        case .secretsDamaged:
            self.init(
                .integrity,
                hint:
                    "records of the secrets have been altered or removed, or keys/ is another store's: 'kura secrets verify' tells more, 'kura secrets repair' accepts what is there; or leave them out (include)"
            )
        case .slotsLost:
            self.init(
                .integrity,
                hint:
                    "keys/slots.json is missing, or is not that of the secrets: bring it back from a copy, or leave them out (include)"
            )
        case .keyNeeded: self.init(.wrongKey, hint: "the backup is encrypted: its passphrase is needed, or an identity")
        case .wrongKey: self.init(.wrongKey, hint: "the backup is encrypted for somebody else")
        case .notABackup, .isBundle, .isBackup: self.init(.integrity, hint: "it is no backup of Kura")
        case .newerSchema:
            self.init(.integrity, hint: "the backup's data is laid out for a later version than this kurad")
        case .unknownVersion: self.init(.integrity, hint: "the backup is of a version that this kurad does not know")
        case .unknownSuite:
            self.init(.integrity, hint: "the backup was made with algorithms that this kurad does not know")
        case .truncated: self.init(.integrity, hint: "the backup is cut off: its final part is missing")
        case .trailing: self.init(.integrity, hint: "something stands behind the backup's end")
        case .forged, .unproved, .unprovedLog, .foreignLog:
            self.init(.integrity, hint: "it says that it was made here, and was not, or was altered")
        case .damaged, .malformed: self.init(.integrity, hint: "a part of the backup is not what was written there")
        case .unfit:
            self.init(
                .integrity, hint: "a record is not what a daemon writes; kura restore FILE --dry-run tells which")
        case .unfitContent:
            self.init(
                .integrity,
                hint: "a content of an attachment is not what was stored; kura restore FILE --dry-run tells which")
        case .miscounted: self.init(.integrity, hint: "the backup's manifest counts others than there are")
        case .unusableRecipient: self.init(.invalidParams, hint: "a recipient is no public key to seal to")
        case .tables(let error): self.init(unreadable: error)
        case .system(let code, _, _):
            self.init(
                code == ENOENT ? .notFound : .transferFailed,
                hint: code == ENOENT ? "there is no such backup" : "the backup could not be read or written")
        case .refused: self.init(.transferFailed, hint: "the backup was refused; is there one of that name?")
        }
    }
}
