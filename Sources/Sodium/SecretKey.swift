import CSodium
public import KuraBytes

/// Eight characters that say what a derived key is for. Keys of different contexts have nothing to do with one another.
public struct KeyContext: Hashable, Sendable {
    let text: StaticString

    /// - Parameter text: exactly eight ASCII characters.
    public init(_ text: StaticString) {
        precondition(text.utf8CodeUnitCount == 8, "a context has eight characters")
        self.text = text
    }

    public static func == (left: KeyContext, right: KeyContext) -> Bool { Bytes(left.text).equals(right.text) }
    public func hash(into hasher: inout Hasher) { hasher.combine(Bytes(text).loadUnaligned(as: UInt64.self)) }
}

/// A key of 32 bytes in locked memory, which is zeroed when the last reference goes.
///
/// Never printed, never compared but in constant time, never turned into an array or a string. Immutable, so any thread may use it.
///
/// Safety: `address` is a slot of the arena's, written in `init` only, this object's until `deinit`, which gives it back; whoever is
/// lent the address keeps the object alive meanwhile (`withAddress`).
@safe
public final class SecretKey: @unchecked Sendable {
    /// Bytes of a key.
    public static let byteCount = 32

    private let arena: KeyArena
    private let address: UnsafeMutablePointer<UInt8>

    /// A slot with zeros, for initialisers to fill.
    private init(emptyIn arena: KeyArena) throws(SodiumError) {
        guard let slot = unsafe arena.allocate() else { throw .outOfMemory }
        self.arena = arena
        unsafe address = slot
    }

    deinit {
        unsafe arena.release(address)
    }

    /// A new key from the kernel's randomness.
    public convenience init(randomIn arena: KeyArena = .shared) throws(SodiumError) {
        try self.init(emptyIn: arena)
        unsafe randombytes_buf(address, Self.byteCount)
    }

    /// A key with these bytes, which the caller zeroes where they came from.
    ///
    /// - Throws: `malformed` when they are not 32.
    public convenience init(copying bytes: Bytes, in arena: KeyArena = .shared) throws(SodiumError) {
        guard bytes.count == Self.byteCount else { throw .malformed }
        try self.init(emptyIn: arena)
        unsafe address.update(from: bytes.octets, count: Self.byteCount)
    }

    /// A key that `fill` computes in its place.
    ///
    /// - Throws: what `fill` gives, when it gives anything.
    convenience init(
        in arena: KeyArena = .shared, _ fill: (UnsafeMutablePointer<UInt8>) -> SodiumError?
    ) throws(SodiumError) {
        try self.init(emptyIn: arena)
        if let error = unsafe fill(address) { throw error }
    }

    /// The key that follows from this one for a purpose; the same each time.
    ///
    /// Whoever has it learns nothing of this key nor of others derived from it.
    ///
    /// - Parameters:
    ///   - context: what the key is for.
    ///   - id: which of that purpose's keys, such as an epoch.
    /// - Returns: a key of its own.
    /// - Throws: `outOfMemory`.
    ///
    /// Source: libsodium, "Key derivation" (`crypto_kdf`, BLAKE2b with salt and personalisation).
    public func derive(_ context: KeyContext, id: UInt64) throws(SodiumError) -> SecretKey {
        try unsafe SecretKey(in: arena) { subkey in
            unsafe derive(context, id: id, to: subkey, count: Self.byteCount)
            return nil
        }
    }

    /// The same, written to where there is room for `count` bytes, 16 to 64.
    func derive(_ context: KeyContext, id: UInt64, to subkey: UnsafeMutablePointer<UInt8>, count: Int) {
        unsafe withAddress { key in
            let name = unsafe UnsafeRawPointer(context.text.utf8Start).assumingMemoryBound(to: CChar.self)
            // Fails only for lengths that are out of bounds.
            _ = unsafe crypto_kdf_derive_from_key(subkey, count, id, name, key)
        }
    }

    /// Lends the bytes of the key for the call.
    public func withBytes<R, E: Error>(_ body: (Bytes) throws(E) -> R) throws(E) -> R {
        defer { withExtendedLifetime(self) {} }
        return try body(unsafe Bytes(start: address, count: Self.byteCount))
    }

    /// Whether both are the same key; the time it takes does not say how much of them is.
    public func equals(_ other: SecretKey) -> Bool {
        withBytes { (bytes: Bytes) -> Bool in other.withBytes { ConstantTime.equal(bytes, $0) } }
    }

    /// The address for C, which keeps it for the call only.
    func withAddress<R>(_ body: (UnsafePointer<UInt8>) -> R) -> R {
        defer { withExtendedLifetime(self) {} }
        return unsafe body(UnsafePointer(address))
    }
}
