import Glibc
public import KuraBytes
import KuraProtocol
public import KuraStorage

// Safety: `fread` gets a buffer with its length and a file that is open until the function returns; the kernel fills one
// `stat`, which is ours; Swift lends the path as a C string for the call.

/// What the daemon was told to do. Flags win over the environment, that over the configuration file, that over defaults.
public struct Configuration: Sendable {
    public var dataDirectory: String?
    /// What tells the time.
    public var clock = Clock.system
    public var socket: String?
    public var profile: StorageConfiguration.Profile = .default
    public var logLevel: Journal.Level = .info
    /// What becomes of the data at the end.
    public enum Lifetime: Sendable {
        case lasting
        /// They are in a temporary directory, and go.
        case ephemeral
        /// The same, and the directory lies in memory.
        case inMemory
    }
    public var lifetime = Lifetime.lasting
    public var isEphemeral: Bool { lifetime != .lasting }
    /// Bytes that such data may take, as if the disk had no more; nil: as many as there are.
    public var diskLimit: Int?
    public var limits = ServerLimits()
    /// Bytes and seconds of the log to keep for the change feed; the profile's when nil.
    public var retainBytes: Int?
    public var retainSeconds: Int?
    /// Starts that fail with the caches before these are dropped; 1 when nil.
    public var bootAttempts: Int?
    /// Milliseconds from which on a request is told of as slow; 0: none is.
    public var slowMilliseconds = 1000
    /// Microseconds for which the loop looks for requests before it sleeps, while that pays; nil for the profile's.
    public var busyPollMicroseconds: Int?
    /// Directories beneath which requests of the daemon's own user may name files by path; none at first.
    public var importRoots: [String] = []
    /// Sockets and roles; without sockets there is the one that `socket` names.
    public var access = AccessRules()
    /// The file of settings that the host's administrator has fixed.
    public var settingsLocks: String?
    /// A file with the key of a slot of the secrets, such as a container's secret.
    public var secretsKeyFile: String?
    /// Bytes of the model cache on the disk and in memory; the profile's when nil.
    public var modelBytes: Int?
    public var modelMemoryBytes: Int?
    /// Bytes of the contents of blobs on the disk, and of small ones in memory; the profile's when nil.
    public var blobBytes: Int?
    public var blobMemoryBytes: Int?
    /// Bytes that have to be free for caches to store anything; nil: 400 MiB, or a twentieth of a small disk.
    public var minFreeBytes: Int?
    /// Bytes of the secrets' audit; nil for the usual 16 MiB.
    public var auditBytes: Int?
    /// A descriptor that such a key is read from at the start.
    public var keyDescriptor: Int32?
    /// Start also when the secrets' slots are gone.
    public var goesWithoutSecrets = false

    /// A file that stores which are absent begin with.
    public var seedBundle: String?
    /// What rooms and programs may have written to the disk in a day.
    public var writeBudgets: [WriteBudget] = []

    /// Seconds between two scheduled snapshots, and which of them are kept; nil: none are made.
    public var backupsEvery: Int?
    public var backupsKeep = BackupDirectory.Keep()
    /// Who opens scheduled snapshots: public keys; empty: they are not encrypted.
    public var backupsRecipients: [[UInt8]] = []
    /// Seconds between two looks through everything; 0: none by itself.
    public var checkEvery = 7 * 86_400

    public init() {}

    /// What the loop is made with: a small device is to save its power.
    var busyPolling: Int { busyPollMicroseconds ?? (profile == .small ? 0 : 50) }

    /// Why a configuration is refused.
    public struct Refusal: Error, CustomStringConvertible, Sendable {
        public let description: String
        /// What the daemon ends with: 2 for what does not mend itself, 1 where a later start may find it otherwise.
        public var exitStatus: Int32 = 2

        public init(description: String) { self.description = description }

        /// The same, said of a file.
        init(_ refusal: Refusal, of place: String) {
            description = "\(place): \(refusal.description)"
            exitStatus = refusal.exitStatus
        }

        /// A call has failed.
        fileprivate init(errno: Int32) {
            description = Errno.text(errno)
            exitStatus = Errno.passes(errno) ? 1 : 2
        }
    }

    // MARK: The file

    /// Takes in a configuration file: one JSON object, every key known, every value of its type.
    public mutating func read(file path: String) throws(Refusal) {
        do throws(Refusal) {
            let text = try Self.trustedContents(of: path)
            try text.withBytes { (text) throws(Refusal) in try read(text) }
        } catch { throw Refusal(error, of: path) }
    }

    mutating func read(_ text: Bytes) throws(Refusal) {
        let compact = try Self.checkedObject(text)
        try compact.withBytes { (text) throws(Refusal) in
            var walk = JSONWalk(text, storage: WalkStorage())
            while let (name, value) = walk.nextMember() {
                try take(String(decoding: name, as: UTF8.self), value)
            }
        }
        guard socket == nil || access.sockets.isEmpty else {
            throw Refusal(description: "socket and sockets: one of them")
        }
        try access.check()
    }

    /// A file's text as one JSON object without white space between its tokens.
    static func checkedObject(_ text: Bytes) throws(Refusal) -> [UInt8] {
        var reader = JSONReader(text, names: NameStack())
        do throws(JSONFault) {
            let kind = try reader.value().kind
            try reader.expectEnd()
            guard kind == .object else { throw JSONFault(reason: .unexpectedByte, offset: 0) }
        } catch { throw Refusal(description: "no JSON object (\(error.reason) at byte \(error.offset))") }
        var compact = ByteBuffer()
        JSONText.compact(text, into: &compact)
        return Array(compact.bytes)
    }

    private mutating func take(_ name: String, _ value: Bytes) throws(Refusal) {
        switch name {
        case "dataDir": dataDirectory = try Self.text(name, value)
        case "socket": socket = try Self.text(name, value)
        case "profile": profile = try Self.profile(Self.text(name, value))
        case "logLevel": logLevel = try Self.level(Self.text(name, value))
        case "busyPollMicroseconds": busyPollMicroseconds = try Self.number(name, value, 0...1000)
        case "slowMilliseconds": slowMilliseconds = try Self.number(name, value, 0...3_600_000)
        case "seedBundle":
            let path = try Self.text(name, value)
            guard path.hasPrefix("/") else { throw Refusal(description: "seedBundle is an absolute path") }
            seedBundle = path
        case "bootAttempts": bootAttempts = try Self.number(name, value, 1...100)
        case "importRoots": importRoots = try Self.paths(name, value)
        case "settingsLocks": settingsLocks = try Self.text(name, value)
        case "diskWrites": writeBudgets = try Self.writeBudgets(value)
        case "sockets": try access.read(sockets: value)
        case "roles": try access.read(roles: value)
        case "limits":
            guard value.first == UInt8(ascii: "{") else { throw Refusal(description: "limits is an object") }
            var walk = JSONWalk(value, storage: WalkStorage())
            while let (name, value) = walk.nextMember() { try takeLimit(String(decoding: name, as: UTF8.self), value) }
        case "secrets":
            guard value.first == UInt8(ascii: "{") else { throw Refusal(description: "secrets is an object") }
            var walk = JSONWalk(value, storage: WalkStorage())
            while let (name, value) = walk.nextMember() {
                try takeSecrets(String(decoding: name, as: UTF8.self), value)
            }
        case "caches":
            guard value.first == UInt8(ascii: "{") else { throw Refusal(description: "caches is an object") }
            var walk = JSONWalk(value, storage: WalkStorage())
            while let (name, value) = walk.nextMember() {
                try takeCaches(String(decoding: name, as: UTF8.self), value)
            }
        case "backups":
            guard value.first == UInt8(ascii: "{") else { throw Refusal(description: "backups is an object") }
            var walk = JSONWalk(value, storage: WalkStorage())
            while let (name, value) = walk.nextMember() {
                try takeBackups(String(decoding: name, as: UTF8.self), value)
            }
        case "checks":
            guard value.first == UInt8(ascii: "{") else { throw Refusal(description: "checks is an object") }
            var walk = JSONWalk(value, storage: WalkStorage())
            while let (name, value) = walk.nextMember() { try takeChecks(String(decoding: name, as: UTF8.self), value) }
        case "changes":
            guard value.first == UInt8(ascii: "{") else { throw Refusal(description: "changes is an object") }
            var walk = JSONWalk(value, storage: WalkStorage())
            while let (name, value) = walk.nextMember() { try takeFeed(String(decoding: name, as: UTF8.self), value) }
        default:
            throw Refusal(
                description: """
                    unknown key "\(name)"; known are dataDir, socket, sockets, roles, profile, logLevel, backups, caches, changes, checks, diskWrites, limits, \
                    busyPollMicroseconds, importRoots, settingsLocks, secrets, bootAttempts, seedBundle, slowMilliseconds
                    """)
        }
    }

    private mutating func takeLimit(_ name: String, _ value: Bytes) throws(Refusal) {
        switch name {
        case "lineBytes": limits.lineBytes = try Self.number(name, value, 1024...(64 << 20))
        case "batchItems": limits.batchItems = try Self.number(name, value, 1...100_000)
        case "connections": limits.connections = try Self.number(name, value, 1...1_000_000)
        case "outputBytes": limits.outputBytes = try Self.number(name, value, 4096...(1 << 30))
        case "inputBytes": limits.inputBytes = try Self.number(name, value, 4096...(1 << 30))
        case "bufferBytes": limits.bufferBytes = try Self.number(name, value, (1 << 20)...(256 << 20))
        case "passedDescriptors": limits.passedDescriptors = try Self.number(name, value, 8...1_000_000)
        case "stallSeconds": limits.stallSeconds = try Self.number(name, value, 1...86_400)
        case "requestsPerTurn": limits.requestsPerTurn = try Self.number(name, value, 1...100_000)
        case "subscriptions": limits.subscriptions = try Self.number(name, value, 0...65_536)
        case "liveDocuments": limits.liveQueries.documents = try Self.number(name, value, 1...10_000_000)
        case "liveBytes": limits.liveQueries.bytes = try Self.number(name, value, 4096...(1 << 30))
        case "totalSubscriptions": limits.totalSubscriptions = try Self.number(name, value, 0...1_000_000)
        case "transfers": limits.transfers = try Self.number(name, value, 1...256)
        default:
            throw Refusal(
                description: """
                    unknown limit "\(name)"; known are lineBytes, batchItems, connections, outputBytes, inputBytes, \
                    bufferBytes, passedDescriptors, stallSeconds, requestsPerTurn, subscriptions, totalSubscriptions, \
                    liveDocuments, liveBytes, transfers
                    """)
        }
    }

    private mutating func takeSecrets(_ name: String, _ value: Bytes) throws(Refusal) {
        if name == "auditBytes" {
            auditBytes = try Self.number(name, value, (16 << 10)...(1 << 30))
            return
        }
        guard name == "keyFile" else {
            throw Refusal(description: "unknown key \"\(name)\" in secrets; known are keyFile, auditBytes")
        }
        let path = try Self.text(name, value)
        guard path.hasPrefix("/") else { throw Refusal(description: "secrets.keyFile is an absolute path") }
        secretsKeyFile = path
    }

    private mutating func takeCaches(_ name: String, _ value: Bytes) throws(Refusal) {
        switch name {
        case "modelBytes": modelBytes = try Self.number(name, value, (64 << 10)...(1 << 40))
        case "modelMemoryBytes": modelMemoryBytes = try Self.number(name, value, (64 << 10)...(1 << 40))
        case "blobBytes": blobBytes = try Self.number(name, value, (64 << 10)...(1 << 44))
        case "blobMemoryBytes": blobMemoryBytes = try Self.number(name, value, (64 << 10)...(1 << 40))
        case "minFreeBytes": minFreeBytes = try Self.number(name, value, Self.minFreeRange)
        default:
            throw Refusal(
                description: """
                    unknown key "\(name)" in caches; known are modelBytes, modelMemoryBytes, blobBytes, blobMemoryBytes, \
                    minFreeBytes
                    """)
        }
    }

    private mutating func takeFeed(_ name: String, _ value: Bytes) throws(Refusal) {
        switch name {
        case "retainBytes": retainBytes = try Self.number(name, value, 0...(1 << 40))
        case "retainSeconds": retainSeconds = try Self.number(name, value, 0...(1 << 32))
        case "progressSeconds": limits.progressSeconds = try Self.number(name, value, 1...3600)
        default:
            throw Refusal(
                description:
                    "unknown key \"\(name)\" in changes; known are retainBytes, retainSeconds, progressSeconds")
        }
    }

    /// Listens there instead of where the file says.
    public mutating func listen(at path: String) throws(Refusal) {
        guard access.sockets.isEmpty else {
            throw Refusal(description: "sockets are in the configuration: no --socket and no $KURA_SOCKET beside them")
        }
        socket = path
    }

    // MARK: Reading again

    /// Keys of what differs and only a restart can change, as the file calls them.
    func fixedDifferences(from other: Configuration) -> [String] {
        func differs<each Value: Equatable>(_ members: repeat KeyPath<Self, each Value>) -> Bool {
            var found = false
            for member in repeat each members { found = found || self[keyPath: member] != other[keyPath: member] }
            return found
        }
        let differences = [
            ("dataDir", differs(\.dataDirectory)),
            ("socket", differs(\.socket)),
            ("profile", differs(\.profile)),
            ("busyPollMicroseconds", differs(\.busyPollMicroseconds)),
            ("limits or changes", differs(\.limits, \.retainBytes, \.retainSeconds)),
            ("caches", differs(\.modelBytes, \.modelMemoryBytes, \.blobBytes, \.blobMemoryBytes, \.minFreeBytes)),
            ("backups", differs(\.backupsEvery, \.backupsKeep, \.backupsRecipients)),
            ("checks", differs(\.checkEvery)),
            ("importRoots", differs(\.importRoots)),
            ("bootAttempts", differs(\.bootAttempts)),
            ("seedBundle", differs(\.seedBundle)),
            ("secrets", differs(\.secretsKeyFile, \.auditBytes)),
        ]
        var names = differences.filter(\.1).map(\.0)
        let (sockets, others) = (access.sockets, other.access.sockets)
        if sockets.count != others.count || !sockets.allSatisfy({ new in others.contains { $0.isSamePlace(as: new) } })
        {
            names.append("sockets (path, name, owner, group, mode)")
        }
        return names
    }

    // MARK: Words

    public static func profile(_ name: String) throws(Refusal) -> StorageConfiguration.Profile {
        guard let profile = StorageConfiguration.Profile(rawValue: name) else {
            throw Refusal(description: "profile \"\(name)\": small, default or large")
        }
        return profile
    }

    /// What `--min-free` says.
    public static func minFreeBytes(_ text: String) throws(Refusal) -> Int {
        guard let bytes = Int(text), minFreeRange.contains(bytes) else {
            throw Refusal(description: "minimum of free bytes \"\(text)\": a whole number of bytes up to 2^50")
        }
        return bytes
    }

    /// What `--disk-limit` says.
    public static func diskLimit(_ text: String, isEphemeral: Bool) throws(Refusal) -> Int {
        // Data that is to last is never refused for the sake of a trial.
        guard isEphemeral else { throw Refusal(description: "--disk-limit goes with --ephemeral") }
        guard let bytes = Int(text), (1...(1 << 50)).contains(bytes) else {
            throw Refusal(description: "limit of the disk \"\(text)\": a whole number of bytes up to 2^50")
        }
        return bytes
    }

    private static let minFreeRange = 0...(1 << 50)

    public static func level(_ name: String) throws(Refusal) -> Journal.Level {
        guard let level = Journal.Level(name: name) else {
            throw Refusal(description: "log level \"\(name)\": debug, info, warning or error")
        }
        return level
    }

    static func text(_ name: String, _ value: Bytes) throws(Refusal) -> String {
        let storage = WalkStorage()
        guard let text = JSONWalk.string(value, storage: storage) else {
            throw Refusal(description: "\(name) is a string")
        }
        // The text may lie in the storage's scratch.
        return withExtendedLifetime(storage) { String(decoding: text, as: UTF8.self) }
    }

    private static func paths(_ name: String, _ value: Bytes) throws(Refusal) -> [String] {
        guard value.first == UInt8(ascii: "[") else { throw Refusal(description: "\(name) is an array of paths") }
        var walk = JSONWalk(value, storage: WalkStorage())
        var paths: [String] = []
        while let element = walk.nextElement() {
            let path = try text(name, element)
            guard path.hasPrefix("/") else { throw Refusal(description: "\(name) are absolute paths") }
            paths.append(path)
        }
        return paths
    }

    static func number(
        _ name: String, _ value: Bytes, _ range: ClosedRange<Int>
    ) throws(Refusal) -> Int {
        guard let number = RequestReader.integer(value), range.contains(Int(number)) else {
            throw Refusal(description: "\(name) is a whole number from \(range.lowerBound) to \(range.upperBound)")
        }
        return Int(number)
    }

    /// What the kernel says under a path.
    static func contents(of path: String) -> [UInt8]? {
        guard let file = unsafe fopen(path, "re") else { return nil }
        defer { unsafe fclose(file) }
        return unsafe contents(of: file)
    }

    /// A file that tells the daemon what others may do: only root and the daemon's own user may have a say in it. Nobody waits for it: a
    /// FIFO is refused, as everything but a file is.
    /// `own`: whose it may be besides root's, in words.
    static func trustedContents(of path: String, own: String = "the daemon's own") throws(Refusal) -> [UInt8] {
        func failure() -> Refusal { Refusal(errno: errno) }
        let isOther = Refusal(description: "is no regular file")
        var information = stat()
        // Opening some devices does something, so what is none is found out first; what has become one since is closed at once.
        if unsafe stat(path, &information) == 0, information.st_mode & S_IFMT != S_IFREG { throw isOther }
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard descriptor >= 0 else { throw failure() }
        guard let file = unsafe fdopen(descriptor, "r") else {
            let refusal = failure()
            close(descriptor)
            throw refusal
        }
        defer { unsafe fclose(file) }
        guard unsafe fstat(descriptor, &information) == 0 else { throw failure() }
        guard information.st_mode & S_IFMT == S_IFREG else { throw isOther }
        guard information.st_uid == 0 || information.st_uid == geteuid() else {
            throw Refusal(description: "belongs to user \(information.st_uid): it has to be root's or \(own)")
        }
        guard information.st_mode & (S_IWGRP | S_IWOTH) == 0 else {
            throw Refusal(description: "can be written by its group or by others: chmod go-w")
        }
        guard let text = unsafe contents(of: file) else { throw failure() }
        return text
    }

    private static func contents(of file: UnsafeMutablePointer<FILE>) -> [UInt8]? {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 64 << 10)
        while bytes.count < 16 << 20 {
            let count = unsafe fread(&chunk, 1, chunk.count, file)
            if count == 0 { break }
            bytes.append(contentsOf: chunk[..<count])
        }
        return unsafe ferror(file) == 0 ? bytes : nil
    }

    // MARK: Defaults

    /// Where data lies when nobody says otherwise: /var/lib/kura for root, else $XDG_STATE_HOME/kura
    /// (~/.local/state/kura). Source: XDG Base Directory Specification 0.8.
    public static func defaultDataDirectory(_ environment: (String) -> String?) -> String {
        if geteuid() == 0 { return "/var/lib/kura" }
        if let state = environment("XDG_STATE_HOME"), state.hasPrefix("/") { return state + "/kura" }
        return (environment("HOME") ?? "") + "/.local/state/kura"
    }
}
