/// Why a backup was not made, or is refused.
public enum BackupFault: Error, Equatable, Sendable, CustomStringConvertible {
    /// It does not begin as a backup does.
    case notABackup
    /// One was expected, and it is the other.
    case isBundle, isBackup
    /// What is in it is laid out for a later version.
    case newerSchema(found: Int, known: Int)
    /// Made by a later version, or with other algorithms.
    case unknownVersion(Int)
    case unknownSuite(Int)
    /// It ends before its final frame does.
    case truncated
    /// Something stands behind its final frame.
    case trailing
    /// A part is not what was written there; the number counts the frames from 0, -1 for the header.
    case damaged(frame: Int)
    /// It is encrypted, and no key was given.
    case keyNeeded
    /// None of the keys that were given opens it.
    case wrongKey
    /// A record is not what a daemon writes, though the digests fit; counted from 1 over the whole file. The reason goes on with
    /// "record 17 …".
    case unfit(record: Int, reason: String)
    /// A content of an attachment is not what was stored, or not where it belongs; the frame is counted from 0, nil where there is none. The
    /// reason goes on with "the content … of an attachment".
    case unfitContent(digest: String, part: Int?, reason: String)
    /// Its manifest counts others than there are.
    case miscounted(String, said: Int, found: Int)
    /// It says that it is of the store whose keys are at hand, and its proof does not fit.
    case forged
    /// It is not shown to be ours, and nobody has asked for it all the same.
    case unproved(BackupOrigin)
    /// The log that is to be added lies beside other keys than those that show whose the backup is: it has no proof of its own.
    case unprovedLog
    /// It lies beside them, and others can write to it.
    case foreignLog(String)
    /// A part is whole and says something that is not understood.
    case malformed
    /// The secrets are locked: which of them belong into a backup cannot be told.
    case secretsLocked
    /// The keys of the secrets were rotated meanwhile: begin anew.
    case keysChanged
    /// Records of the secrets do not open with the keys that they were sealed with.
    case secretsDamaged
    /// keys/slots.json is missing, damaged, or leads to other keys than those at hand.
    case slotsLost
    case cancelled
    case noSpace
    /// A recipient is no public key to seal to.
    case unusableRecipient
    /// There is no memory for a passphrase's hash.
    case outOfMemory
    case system(errno: Int32, call: String, path: String)
    case tables(EngineError)
    case refused(String)

    public var description: String {
        switch self {
        case .notABackup: "it is no file of Kura's"
        case .isBundle: "it is a seed bundle and no backup: kurad --seed-bundle takes it"
        case .isBackup: "it is a backup and no seed bundle: kura restore takes it"
        case .newerSchema(let found, let known):
            "its data is of layout \(found), made by a newer version; this one knows up to \(known)"
        case .unknownVersion(let version): "its format is of version \(version), which this kurad does not know"
        case .unknownSuite(let suite):
            "it was made with other algorithms (suite \(suite)), which this kurad does not know"
        case .truncated: "it is cut off: its final part is missing"
        case .trailing: "something stands behind its end"
        case .damaged(let frame): frame < 0 ? "its header is damaged" : "part \(frame) of it is damaged"
        case .keyNeeded: "it is encrypted: an identity or a passphrase is needed"
        case .wrongKey: "it is encrypted for somebody else: neither the identity nor the passphrase opens it"
        case .unfit(let record, let reason): "record \(record) \(reason)"
        case .unfitContent(let digest, let part, let reason):
            "\(part.map { "part \($0): " } ?? "")the content \(digest) of an attachment \(reason)"
        case .miscounted(let what, let said, let found): "its manifest says \(said) \(what), and it has \(found)"
        case .forged:
            "it says that it was made here, and was not, or was altered: its proof of origin does not fit these keys"
        case .unproved(.otherHost): "it was made by a daemon with other keys"
        case .unproved(.laterKeys):
            "it says that it was made after a rotation of the root key, and the keys are of before that, so they cannot tell"
        case .unproved: "nothing shows who made it, and whether it was altered"
        case .unprovedLog:
            "nothing shows whose the log is: it has no proof, and lies in another directory than the keys"
        case .foreignLog(let path):
            "\(path) of the log is another user's, or others can write to it, so that nothing shows whose it is"
        case .malformed: "a part of it is not understood"
        case .secretsLocked: "the secrets are locked: unlock them, or leave them out"
        case .keysChanged: "the keys of the secrets were made or changed meanwhile: begin anew"
        case .secretsDamaged: "records of the secrets have been altered or removed: repair them, or leave them out"
        case .slotsLost: "keys/slots.json is missing, or is not that of the secrets: bring it back, or leave them out"
        case .cancelled: "it was called off"
        case .noSpace: "there is no room for it"
        case .unusableRecipient: "a recipient is no X25519 public key"
        case .outOfMemory: "there is no memory for hashing the passphrase"
        case .system(let errno, let call, let path): FileSystem.text(errno, call, path)
        case .tables(let error): "the tables could not be read: \(error)"
        case .refused(let why): why
        }
    }

    /// A list of attachments is there, and its document is not.
    /// `record`: the number of the list's record. `place`: what the list is of, where that is known.
    static func strayList(record: Int, place: String = "") -> BackupFault {
        let words = "is not what a daemon writes: it lists attachments of a document that is not there"
        return .unfit(record: record, reason: place.isEmpty ? words : "(\(place)) \(words)")
    }

    init(_ fault: StorageFault) {
        if fault.isFull {
            self = .noSpace
        } else if case .system(let errno, let call, let path) = fault {
            self = .system(errno: errno, call: call, path: path)
        } else if case .database(let error, _) = fault, StorageFault.isOfCall(error) {
            self = .tables(.unreadable(error))
        } else {
            self = .refused(fault.description)
        }
    }

    public init(_ error: EngineError) {
        switch error {
        case .cancelled, .interrupted: self = .cancelled
        case .noSpace: self = .noSpace
        case .conflict, .valueTooLarge, .quotaExceeded, .accountFull, .tooLargeForRoom, .cold, .busy, .duplicate,
            .overloaded, .unreadable:
            self = .tables(error)
        }
    }
}
