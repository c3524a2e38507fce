import Glibc
import KuraBytes
import Sodium

/// Whose work a backup is, as far as the keys at hand tell.
public enum BackupOrigin: String, Sendable {
    /// A daemon with these keys made it, and every byte is as it was made.
    case ours
    /// It says that a daemon with other keys made it.
    case otherHost
    /// It says nothing of it, or there are no keys to check it with. Anybody can have made or altered it.
    case unproved
    /// It says that it was made after a rotation which the keys at hand are of before: they cannot tell.
    case laterKeys

    /// As the wire calls it.
    public var word: String { self == .laterKeys ? BackupOrigin.unproved.rawValue : rawValue }
}

/// The proof of a backup's origin. It is the last member of the manifest, and is read from the end of the text alone.
///
///     ,"origin":{"storeId":"<32 digits>","mac":"<64 digits>"}}
///
/// The MAC is a keyed BLAKE2b-256, under a key of the store that a rotation renews (`KeyPurpose.origin`), of: a label, the store's id, the digest of all bytes
/// of the file before the manifest's frame, and the manifest's text before this member.
struct BackupProof: Equatable, Sendable {
    var storeID: [UInt8]
    var mac: [UInt8]

    private static let idName: StaticString = ",\"origin\":{\"storeId\":\""
    private static let macName: StaticString = "\",\"mac\":\""
    private static let end: StaticString = "\"}}"
    private static let idDigits = 2 * KeySlots.storeIDBytes
    private static let macDigits = 2 * KeyedHash.digestBytes
    private static var bytes: Int {
        Bytes(idName).count + idDigits + Bytes(macName).count + macDigits + Bytes(end).count
    }

    init(storeID: [UInt8], mac: [UInt8]) { (self.storeID, self.mac) = (storeID, mac) }

    /// Reads what stands at the end of a manifest; nil when nothing does.
    init?(endOf text: Bytes) {
        guard text.count > Self.bytes else { return nil }
        var rest = text.extracting(text.count - Self.bytes..<text.count)
        func take(_ words: StaticString) -> Bool {
            let words = Bytes(words)
            guard rest.starts(with: words) else { return false }
            rest = rest.extracting(words.count..<rest.count)
            return true
        }
        func digits(_ count: Int) -> [UInt8]? {
            defer { rest = rest.extracting(count..<rest.count) }
            return Self.bytes(of: rest.extracting(0..<count))
        }
        guard take(Self.idName), let storeID = digits(Self.idDigits), take(Self.macName),
            let mac = digits(Self.macDigits), take(Self.end)
        else { return nil }
        (self.storeID, self.mac) = (storeID, mac)
    }

    /// - Returns: nil when not all are lower-case digits.
    private static func bytes(of digits: Bytes) -> [UInt8]? {
        let values = digits.map { digit -> UInt8? in
            switch digit {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
            default: nil
            }
        }
        let known = values.compactMap { $0 }
        guard known.count == values.count else { return nil }
        return stride(from: 0, to: known.count, by: 2).map { known[$0] << 4 | known[$0 + 1] }
    }

    /// The part of a manifest that the MAC is of, when it ends with a proof.
    static func covered(_ text: Bytes) -> Bytes { text.extracting(0..<text.count - bytes) }

    /// Takes the place of the last bracket of a manifest.
    func append(to text: inout ByteBuffer) {
        text.append(Self.idName)
        storeID.withBytes { text.append(hexadecimal: $0) }
        text.append(Self.macName)
        mac.withBytes { text.append(hexadecimal: $0) }
        text.append(Self.end)
    }
}

/// Proves and checks the origin of backups, for the store whose keys it has.
public struct OriginKey: Sendable {
    let storeID: [UInt8]
    /// That the newest began with.
    let epoch: UInt32
    /// The newest first.
    private let keys: [SecretKey]

    init(storeID: [UInt8], epoch: UInt32, keys: [SecretKey]) {
        (self.storeID, self.epoch, self.keys) = (storeID, epoch, keys)
    }

    /// `before`: digest of the file before the manifest's frame. `text`: the manifest's before the proof.
    func proof(before: [UInt8], _ text: Bytes) -> BackupProof { proof(with: keys[0], before, text) }

    private func proof(with key: SecretKey, _ before: [UInt8], _ text: Bytes) -> BackupProof {
        var message = ByteBuffer(capacity: 128 + text.count)
        message.append("kura.backup.origin")
        storeID.withBytes { message.append(prefixed: $0) }
        message.append(before)
        message.append(text)
        var mac = ByteBuffer()
        KeyedHash.append(message.bytes, key: key, to: &mac)
        return BackupProof(storeID: storeID, mac: Array(mac.bytes))
    }

    /// - Throws: `forged` when it says that this store made it, and that is not so.
    func origin(of proof: BackupProof, before: [UInt8], _ text: Bytes) throws(BackupFault) -> BackupOrigin {
        guard proof.storeID == storeID else { return .otherHost }
        let place = keys.firstIndex { key in
            self.proof(with: key, before, text).mac.withBytes { wanted in
                proof.mac.withBytes { ConstantTime.equal(wanted, $0) }
            }
        }
        guard let place else { throw .forged }
        // The proof is of a key from before a rotation: a thief of that key can make it today.
        return place == 0 ? .ours : .unproved
    }
}

extension KeyRing {
    /// What proves that a backup is of this store; nil while the secrets are sealed.
    public var originKey: OriginKey? {
        guard let keys = try? keys(.origin) else { return nil }
        return OriginKey(storeID: storeID, epoch: renewedEpoch, keys: keys)
    }
}

/// Keys that somebody has brought, to tell whether a backup is of the store that they are of: a copy of a daemon's `keys/`.
public struct BroughtKeys: Sendable {
    let directory: String
    /// Of root.key, and of what a rotation that was stopped has beside it.
    private let keys: [SecretKey]
    private let text: [UInt8]?

    /// Reads root.key, which may be the key of any slot but a passphrase's, and slots.json when it is there.
    /// - Throws: what keeps them from being read.
    public init(directory: String) throws(BackupFault) {
        self.directory = directory
        guard FileSystem.isDirectory(directory) else { throw .refused("\(directory) is no directory of keys") }
        let files = KeyFiles(directory: directory)
        let paths = [files.rootKeyPath, files.nextKeyPath].filter { FileSystem.exists($0) }
        guard !paths.isEmpty else {
            throw .refused(
                "\(directory) has no root.key. Where the store's key is a credential or a file, put its 32 bytes there as root.key; a passphrase alone tells nothing"
            )
        }
        keys = paths.compactMap { try? KeySources.key(ofOurs: $0) }
        guard !keys.isEmpty else {
            throw .refused(
                "\(files.rootKeyPath) is no file of 32 bytes that is yours, and nobody else's to read (chmod 600)")
        }
        do throws(KeysFault) { text = try files.slotsText() } catch { throw .refused("\(directory): \(error)") }
    }

    /// `slots`: of the backup, for keys without any.
    /// - Throws: `refused` when the key opens neither.
    func originKey(slots: [UInt8]?) throws(BackupFault) -> OriginKey? {
        guard let text = text ?? slots else { return nil }
        if let opened = try opened(text) {
            return KeyRing(hostKey: nil, .success(opened), slots: opened.slots).originKey
        }
        // A backup's own slots may be anybody's.
        guard self.text != nil else { return nil }
        throw .refused("\(directory): root.key opens no slot of the slots.json beside it")
    }

    /// What root.key opens of the slots.json beside it; nil without one.
    /// - Throws: `refused` when somebody without the key has changed that.
    func opened() throws(BackupFault) -> OpenedKeys? {
        guard let text else { return nil }
        return try opened(text)
    }

    private func opened(_ text: [UInt8]) throws(BackupFault) -> OpenedKeys? {
        do throws(KeysFault) {
            let slots = try KeySlots(reading: text)
            for slot in slots.slots where slot.kind != .passphrase {
                for key in keys {
                    guard let root = try? slots.root(in: slot, under: key) else { continue }
                    return try OpenedKeys(slots, text: text, root: root)
                }
            }
            return nil
        } catch { throw .refused("\(directory): \(error)") }
    }

    /// Whether `path` lies in the directory that these lie in, as a daemon's log does.
    func areBeside(_ path: String) -> Bool {
        func parent(_ path: String) -> stat? {
            var information = stat()
            // Safety: Swift lends the path as a C string for the call, and the kernel fills what is ours.
            return unsafe stat(path + "/..", &information) == 0 ? information : nil
        }
        guard let ours = parent(directory), let other = parent(path) else { return false }
        return ours.st_dev == other.st_dev && ours.st_ino == other.st_ino
    }
}

extension BackupOpener {
    /// - Throws: why nothing shows that a log is ours.
    func check(_ changes: LogChanges) throws(BackupFault) {
        guard let brought, brought.areBeside(changes.log) else { throw .unprovedLog }
        if let path = try changes.foreign(besides: brought.directory) { throw .foreignLog(path) }
    }
}
