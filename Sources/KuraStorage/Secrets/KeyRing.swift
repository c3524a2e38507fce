import KuraBytes
public import Sodium
import Synchronization

/// What a key that follows from the root key is for.
public enum KeyPurpose: Sendable, Hashable, CaseIterable {
    /// Seals the keys of namespaces.
    case wrap
    /// Seals what is kept about items and namespaces.
    case heads
    /// The daemon's X25519 pair, which clients seal to.
    case box
    /// Seals what the audit says, which nobody seals anew.
    case audit
    /// The X25519 pair that the audit's events are sealed to while the secrets are.
    case auditBox
    /// Proves that a backup was made by a daemon of this store.
    case origin
    /// Hashes names, so that they can be looked up and not be read.
    case names
    /// Hashes what a namespace has, so that what is missing shows.
    case chain

    /// What a rotation does to a key.
    public enum Lifetime: Sendable {
        /// It follows from the root key, and another one takes its place. What it has sealed is sealed anew, and then it goes.
        case epoch
        /// Another one takes its place for what is new; it stays for what is there.
        case renewed
        /// It stays the same for as long as the store.
        case store
    }

    public var lifetime: Lifetime {
        switch self {
        case .wrap, .heads, .box: .epoch
        case .audit, .auditBox, .origin: .renewed
        case .names, .chain: .store
        }
    }

    var context: KeyContext {
        switch self {
        case .wrap: KeyContext("wrapping")
        case .heads: KeyContext("headseal")
        case .audit: KeyContext("auditing")
        case .auditBox: KeyContext("auditbox")
        case .box: KeyContext("boxseeds")
        case .names: KeyContext("namehash")
        case .chain: KeyContext("chaining")
        case .origin: KeyContext("bkorigin")
        }
    }
}

/// The keys that are at hand: sealed or unlocked, and everything that follows from the root key.
///
/// Lives on the loop and never waits: what takes long (files, passphrases) is a `KeyJob`, whose outcome is taken in by a turn.
/// Keys are given out as references; whoever keeps one past `lock` keeps it in memory.
public final class KeyRing {
    public enum State: Equatable, Sendable {
        case sealed, unlocked
        /// keys/slots.json cannot be read, or not be made; `secrets.unlock` tries again.
        case unusable(KeysFault)
    }

    public private(set) var state: State
    /// Rises with each change of `state` and of the root key: whoever keeps what follows from keys compares it.
    public private(set) var generation: UInt64 = 0
    /// There was a time since the start at which it was unlocked.
    public private(set) var hasBeenUnlocked = false
    /// For what must not leave this host (keys/host.key, never in a backup): at hand as long as the daemon runs, sealed or not; nil when
    /// it cannot be read or made.
    public let hostKey: SecretKey?

    var slots: KeySlots?
    /// For who keeps keys on a thread: whether he still may.
    private(set) var lease = KeyLease()
    private var roots: [(epoch: UInt32, key: SecretKey)] = []
    /// By the epoch that each began with, the newest last; the first one is of the store's beginning.
    private var lasting: [(epoch: UInt32, key: SecretKey)] = []
    private var derived: [Derivation: SecretKey] = [:]
    private var boxes: [UInt32: BoxKeyPair] = [:]

    private struct Derivation: Hashable {
        var purpose: KeyPurpose
        var epoch: UInt32
    }

    init(hostKey: SecretKey?, _ opened: Result<OpenedKeys?, KeysFault>, slots: KeySlots?) {
        self.hostKey = hostKey
        self.slots = slots
        switch opened {
        case .success(let keys?):
            state = .sealed
            adopt(keys)
        case .success(nil): state = .sealed
        case .failure(let fault): state = .unusable(fault)
        }
    }

    // MARK: Reading

    public var isUnlocked: Bool { state == .unlocked }

    /// 16 bytes, which every seal of the store names; empty while the slots cannot be read.
    public var storeID: [UInt8] { slots?.storeID ?? [] }

    /// Epoch of the newest root key, which new things are sealed with; 0 while the slots cannot be read.
    public var epoch: UInt32 { slots?.epoch ?? 0 }

    /// Epochs whose root keys are at hand, the newest last; none while sealed.
    public var epochs: [UInt32] { roots.map(\.epoch) }

    /// Epochs of earlier root keys that something may still be sealed with.
    public var retiredEpochs: [UInt32] { slots?.retired.map(\.epoch) ?? [] }

    /// What is known of the slots, without keys.
    public var allSlots: [KeySlot] { slots?.slots ?? [] }

    /// The key for a purpose.
    ///
    /// - Parameters:
    ///   - purpose: what it is for.
    ///   - epoch: of those that change with a rotation, which one; nil for the newest.
    /// - Returns: the same object as long as nobody locks.
    /// - Throws: `sealed`, or `damaged` when the slots are; `noSuchEpoch`; `outOfMemory`.
    public func key(_ purpose: KeyPurpose, epoch: UInt32? = nil) throws(KeysFault) -> SecretKey {
        let derivation = Derivation(purpose: purpose, epoch: epoch ?? newestEpoch(of: purpose))
        if let key = derived[derivation] { return key }
        if case .unusable(let fault) = state { throw fault }
        guard state == .unlocked else { throw .sealed }
        let known = purpose.lifetime == .epoch ? roots : lasting
        guard let root = known.first(where: { $0.epoch == derivation.epoch })?.key else { throw .noSuchEpoch }
        do throws(SodiumError) {
            let key = try root.derive(purpose.context, id: UInt64(derivation.epoch))
            derived[derivation] = key
            return key
        } catch { throw .outOfMemory }
    }

    private func newestEpoch(of purpose: KeyPurpose) -> UInt32 {
        switch purpose.lifetime {
        case .epoch: epoch
        case .renewed: renewedEpoch
        case .store: 0
        }
    }

    /// Epoch that the keys began with which the last rotation has renewed; 0 before the first.
    var renewedEpoch: UInt32 { lasting.last?.epoch ?? 0 }

    /// All keys for a purpose that a rotation renews, the newest first: something may still be sealed with each.
    ///
    /// - Throws: as `key`.
    func keys(_ purpose: KeyPurpose) throws(KeysFault) -> [SecretKey] {
        var keys = [try key(purpose)]
        for earlier in lasting.dropLast().reversed() { keys.append(try key(purpose, epoch: earlier.epoch)) }
        return keys
    }

    /// The pair that clients seal secrets to.
    ///
    /// - Throws: as `key`.
    public func boxKeyPair(epoch: UInt32? = nil) throws(KeysFault) -> BoxKeyPair {
        let epoch = epoch ?? self.epoch
        if let pair = boxes[epoch] { return pair }
        let seed = try key(.box, epoch: epoch)
        do throws(SodiumError) {
            let pair = try BoxKeyPair(seed: seed)
            boxes[epoch] = pair
            return pair
        } catch { throw .outOfMemory }
    }

    /// The X25519 key that clients seal to; nil while sealed.
    public var publicKey: [UInt8]? { (try? boxKeyPair())?.publicKey }

    /// Whether the memory of all keys is locked into RAM, as the kernel tells.
    public var isMemoryLocked: Bool { LockedMemory.isLocked() }

    // MARK: Changing

    /// Forgets every key but the host's: their memory is zeroed as soon as nobody else keeps them.
    public func lock() {
        lease.revoke()
        lease = KeyLease()
        roots = []
        lasting = []
        derived = [:]
        boxes = [:]
        if state == .unlocked {
            state = .sealed
            generation += 1
        }
    }

    /// From now on these are the keys.
    func adopt(_ keys: OpenedKeys) {
        slots = keys.slots
        roots = keys.roots
        lasting = [(0, keys.lasting)] + keys.recent
        derived = [:]
        boxes = [:]
        state = .unlocked
        hasBeenUnlocked = true
        generation += 1
    }

    /// The slots have been read, or changed, and the keys are what they were.
    func adopt(_ slots: KeySlots) {
        self.slots = slots
        if case .unusable = state {
            state = .sealed
            generation += 1
        }
    }

    func adopt(_ fault: KeysFault) {
        guard state != .unlocked else { return }
        state = .unusable(fault)
        generation += 1
    }

    /// The newest root key, for jobs; nil while sealed.
    var root: SecretKey? { state == .unlocked ? roots.last?.key : nil }
    var opened: OpenedKeys? {
        guard state == .unlocked, let slots, let first = lasting.first else { return nil }
        return OpenedKeys(slots: slots, roots: roots, lasting: first.key, recent: Array(lasting.dropFirst()))
    }
}

/// Whether keys that were given to a thread may still be used: until the secrets are locked.
final class KeyLease: Sendable {
    private let revoked = Atomic<Bool>(false)

    var isRevoked: Bool { revoked.load(ordering: .acquiring) }

    fileprivate func revoke() { revoked.store(true, ordering: .releasing) }
}

/// The slots with the keys that they lead to.
struct OpenedKeys: Sendable {
    var slots: KeySlots
    /// By epoch, the newest last.
    var roots: [(epoch: UInt32, key: SecretKey)]
    var lasting: SecretKey
    /// Lasting keys that rotations have added, by the epoch that began with each.
    var recent: [(epoch: UInt32, key: SecretKey)]

    init(
        slots: KeySlots, roots: [(epoch: UInt32, key: SecretKey)], lasting: SecretKey,
        recent: [(epoch: UInt32, key: SecretKey)] = []
    ) {
        (self.slots, self.roots, self.lasting, self.recent) = (slots, roots, lasting, recent)
    }

    /// Everything that the newest root key opens.
    ///
    /// - Throws: `damaged` when the text was not written with it.
    init(_ slots: KeySlots, text: [UInt8], root: SecretKey) throws(KeysFault) {
        do throws(SodiumError) {
            guard try KeySlots.isAuthentic(text, slots, root: root) else { throw .forged }
            var roots: [(epoch: UInt32, key: SecretKey)] = []
            for retired in slots.retired { roots.append((retired.epoch, try slots.root(of: retired, under: root))) }
            roots.append((slots.epoch, root))
            var recent: [(epoch: UInt32, key: SecretKey)] = []
            for key in slots.recent { recent.append((key.epoch, try slots.lasting(of: key, under: root))) }
            self.init(slots: slots, roots: roots, lasting: try slots.lasting(under: root), recent: recent)
        } catch {
            throw error == .outOfMemory ? .outOfMemory : .damaged("somebody without the key has changed it")
        }
    }
}
