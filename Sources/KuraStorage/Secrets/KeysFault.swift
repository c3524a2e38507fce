/// Why something with the keys of the secrets cannot be done. Nothing has changed then, but for `.unsynced`.
public enum KeysFault: Error, Equatable, Sendable {
    /// No key is at hand: somebody has to unlock first.
    case sealed
    /// The key was right, and somebody has locked the secrets meanwhile.
    case lockedMeanwhile
    /// keys/slots.json is not what was written there; the words say in what.
    case damaged(StaticText)
    /// The passphrase, or the keys of all sources that can be read, open no slot.
    case wrongKey
    /// There is no slot with that number.
    case noSuchSlot
    /// It is the last slot: without it nobody could unlock ever again.
    case lastSlot
    /// There are `KeySlots.mostSlots` already.
    case tooManySlots
    /// There is a slot of that kind; only passphrases can have several.
    case slotExists
    /// A key file is there that may be the key of another slots.json: it is not written over.
    case keyFileExists
    /// No such source is configured, or its key cannot be read now.
    case noSuchSource(StaticText)
    /// A rotation needs the keys of all slots, and these are not at hand.
    case keysNeeded([UInt32])
    /// No root key of that epoch is there.
    case noSuchEpoch
    /// Hashing a passphrase takes so many bytes, and the control group or the machine has not as many left.
    case noRoom(bytes: Int)
    /// Too many wait for their passphrases to be hashed.
    case busy
    case outOfMemory
    case noSpace
    case system(errno: Int32, call: String, path: String)
    /// The new slots are in their place, and may be gone after a power cut: the directory could not be synced.
    case unsynced
    /// The storage is closing.
    case ending

    /// Fixed words, so that no fault can carry a secret.
    public struct StaticText: Equatable, Sendable, ExpressibleByStringLiteral {
        public let text: StaticString
        public init(stringLiteral text: StaticString) { self.text = text }
        public static func == (left: Self, right: Self) -> Bool { "\(left.text)" == "\(right.text)" }
    }

    init(_ fault: StorageFault) {
        switch fault {
        case .system(let errno, let call, let path): self = .system(errno: errno, call: call, path: path)
        default: self = .system(errno: 0, call: "storage", path: fault.description)
        }
        if fault.isFull { self = .noSpace }
    }
}

extension KeysFault: CustomStringConvertible {
    /// For the log.
    public var description: String {
        switch self {
        case .sealed: "the secrets are sealed"
        case .lockedMeanwhile: "the secrets were locked meanwhile"
        case .damaged(let what): "keys/slots.json is damaged: \(what.text)"
        case .wrongKey: "the key opens no slot"
        case .noSuchSlot: "no such slot"
        case .lastSlot: "the last slot stays"
        case .tooManySlots: "too many slots"
        case .slotExists: "there is a slot of that kind"
        case .keyFileExists: "a key file is there that may be the key of another slots.json"
        case .noSuchSource(let what): "\(what.text)"
        case .keysNeeded(let slots):
            "the keys of slots \(slots.map(String.init).joined(separator: ", ")) are not at hand"
        case .noSuchEpoch: "no root key of that epoch"
        case .noRoom(let bytes): "hashing the passphrase takes \(bytes >> 20) MiB, which are not free"
        case .busy: "too many passphrases wait"
        case .outOfMemory: "out of memory"
        case .noSpace: "the disk is full"
        case .system(let errno, let call, let path):
            errno == 0 ? path : FileSystem.text(errno, call, path)
        case .unsynced: "the directory of the keys could not be synced"
        case .ending: "the storage is closing"
        }
    }
}
