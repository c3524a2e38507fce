import Glibc
import KuraBytes
import SQLite
package import Sodium

/// Where keys come from that nobody has to say: what the daemon was told at its start.
public struct KeySourcesConfiguration: Sendable {
    /// What `--key-fd` gave.
    private(set) var descriptorKey: KeyOnce?
    /// $CREDENTIALS_DIRECTORY/kura.key, when there is one.
    public var credentialFile: String?
    /// The file that the configuration names (`secrets.keyFile`).
    public var keyFile: String?
    /// A start is not refused when secrets are there and the slots that open them are not.
    public var goesWithout = false
    /// Bytes of memory that this process may use, and those that are free now, as the control group and the machine have it.
    public var memory: @Sendable () -> (limit: Int, free: Int) = { (.max, .max) }

    public init() {}

    /// Takes a key of 32 bytes from a descriptor, and closes it.
    ///
    /// - Parameter descriptor: of a file, a pipe or a socket; it is read to its end.
    /// - Throws: `refused` when it has no such key.
    public mutating func readKey(from descriptor: Int32) throws(StorageFault) {
        guard let key = KeySources.read(descriptor) else {
            throw .refused("--key-fd \(descriptor): no key of exactly \(SecretKey.byteCount) bytes can be read from it")
        }
        close(descriptor)
        descriptorKey = KeyOnce(key)
    }
}

/// A key that is given out once: configurations are copied and stay, and a key that was taken must not.
final class KeyOnce: Sendable {
    private let key: Guarded<SecretKey?>

    init(_ key: SecretKey) { self.key = Guarded(key) }

    func take() -> SecretKey? {
        key.withLock { key in
            defer { key = nil }
            return key
        }
    }
}

/// The keys of the sources, read when they are needed.
package struct KeySources: Sendable {
    let configuration: KeySourcesConfiguration
    let files: KeyFiles
    /// What `--key-fd` gave: it can be read once only, so it is kept until the secrets are locked.
    let descriptorKey: SecretKey?

    package init(_ configuration: KeySourcesConfiguration, _ files: KeyFiles) {
        self.configuration = configuration
        self.files = files
        descriptorKey = configuration.descriptorKey?.take()
    }

    private init(_ sources: KeySources) {
        configuration = sources.configuration
        files = sources.files
        descriptorKey = nil
    }

    /// Without the key that cannot be read again.
    var locked: KeySources { KeySources(self) }

    /// Kinds that the daemon was told of, for the slots of a first start.
    var configured: [KeySlot.Kind] {
        var kinds: [KeySlot.Kind] = []
        if configuration.descriptorKey != nil { kinds.append(.descriptor) }
        if configuration.credentialFile != nil { kinds.append(.credential) }
        if configuration.keyFile != nil { kinds.append(.container) }
        return kinds
    }

    /// - Throws: `noSuchSource` when there is none of that kind, or what it has is no key.
    package func key(_ kind: KeySlot.Kind) throws(KeysFault) -> SecretKey {
        switch kind {
        case .keyFile: return try Self.key(ofOurs: files.rootKeyPath)
        case .descriptor:
            guard let descriptorKey else {
                throw .noSuchSource(
                    "the key of --key-fd is not at hand: it is read at the start, and kept until the lock")
            }
            return descriptorKey
        case .credential:
            guard let path = configuration.credentialFile else {
                throw .noSuchSource("there is no kura.key in $CREDENTIALS_DIRECTORY")
            }
            guard let key = Self.key(ofOthers: path) else {
                throw .noSuchSource(
                    "kura.key in $CREDENTIALS_DIRECTORY is no readable file of 32 bytes that others cannot write to")
            }
            return key
        case .container:
            guard let path = configuration.keyFile else {
                throw .noSuchSource("the configuration has no secrets.keyFile")
            }
            guard let key = Self.key(ofOthers: path) else {
                throw .noSuchSource("secrets.keyFile is no readable file of 32 bytes that others cannot write to")
            }
            return key
        case .passphrase: throw .noSuchSource("a passphrase is said, not read")
        }
    }

    /// The key in a file under DATA/keys.
    static func key(ofOurs path: String) throws(KeysFault) -> SecretKey {
        guard let descriptor = open(path, O_NOFOLLOW) else {
            throw .noSuchSource(
                "the file of the key in keys/ cannot be opened: after a restore put the root.key of where the backup was made there"
            )
        }
        defer { close(descriptor) }
        guard let mode = mode(of: descriptor), mode.owner == geteuid(), mode.bits & 0o077 == 0 else {
            throw .noSuchSource(
                "the file of the key in keys/ is no file that belongs to the daemon alone: chmod 600 it")
        }
        guard let key = read(descriptor) else {
            throw .noSuchSource("the file of the key in keys/ does not have exactly 32 bytes")
        }
        return key
    }

    /// The key in a file that somebody else provides; a link is fine, since container managers put links there.
    private static func key(ofOthers path: String) -> SecretKey? {
        guard let descriptor = open(path, 0) else { return nil }
        defer { close(descriptor) }
        guard let mode = mode(of: descriptor), mode.owner == 0 || mode.owner == geteuid(), mode.bits & 0o022 == 0
        else { return nil }
        return read(descriptor)
    }

    /// Never waits, whatever the file is.
    private static func open(_ path: String, _ flags: Int32) -> Int32? {
        try? FileSystem.open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | flags)
    }

    /// Owner and permissions of a regular file; nil for anything else.
    ///
    /// Safety: the kernel fills one `stat`, which is ours.
    private static func mode(of descriptor: Int32) -> (owner: UInt32, bits: UInt32)? {
        var information = stat()
        guard unsafe fstat(descriptor, &information) == 0, information.st_mode & S_IFMT == S_IFREG else { return nil }
        return (information.st_uid, information.st_mode)
    }

    /// A key of exactly 32 bytes, and then the end.
    ///
    /// Safety: `read` gets the buffer's spare room with its length.
    static func read(_ descriptor: Int32) -> SecretKey? {
        var buffer = SecretBuffer()
        let most = SecretKey.byteCount + 1
        buffer.fill(atMost: most) { buffer in
            while buffer.count < most {
                let count = unsafe Glibc.read(descriptor, buffer.spare.baseAddress, most - buffer.count)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { return }
                buffer.commit(count)
            }
        }
        return try? SecretKey(copying: buffer.bytes)
    }
}
