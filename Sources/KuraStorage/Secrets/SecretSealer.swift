import KuraBytes
import Sodium

/// Seals and opens what the room keeps: the one place that composes associated data.
///
/// What is sealed is `suite (1) ‖ kind (1) ‖ epoch of the key (4) ‖ AEAD`. Associated data name these, the store, and the place: a row's
/// scope and key, or an item's names with the number of the version and its flags. So nothing of it opens in another row, under
/// another name, as another version, or in another store.
final class SecretSealer {
    /// XChaCha20-Poly1305-IETF, BLAKE2b, crypto_kdf.
    static let suite: UInt8 = 1

    enum Kind: UInt8 {
        case head = 1
        case service = 2
        case store = 3
        case value = 4
        /// The names of an item that was deleted.
        case names = 5
        case dataKey = 6
        case serviceKey = 7
    }

    static let prefixBytes = 6
    /// Bytes that sealing adds.
    static let overhead = prefixBytes + AEAD.overhead
    /// Bytes of a data key or a service's key as it is kept.
    static let sealedKeyBytes = prefixBytes + AEAD.sealedKeyBytes

    private let ring: KeyRing
    private let storeID: [UInt8]
    /// What new seals are made in.
    let epoch: UInt32
    private let newestHeads: SecretKey
    private let newestWrap: SecretKey
    let names: SecretKey
    let chain: SecretKey
    /// Names of items may be in it.
    private var associated = ByteBuffer()

    /// Good as long as `ring` is of the same generation.
    /// - Throws: `.sealed` when it is.
    init(_ ring: KeyRing) throws(SecretsError) {
        self.ring = ring
        storeID = ring.storeID
        epoch = ring.epoch
        do throws(KeysFault) {
            (newestHeads, newestWrap) = (try ring.key(.heads), try ring.key(.wrap))
            (names, chain) = (try ring.key(.names), try ring.key(.chain))
        } catch { throw .sealed }
        associated.wipes = true
    }

    private func heads(_ epoch: UInt32) throws(SecretsError) -> SecretKey {
        if epoch == self.epoch { return newestHeads }
        do throws(KeysFault) { return try ring.key(.heads, epoch: epoch) } catch { throw .integrity }
    }

    private func wrap(_ epoch: UInt32) throws(SecretsError) -> SecretKey {
        if epoch == self.epoch { return newestWrap }
        do throws(KeysFault) { return try ring.key(.wrap, epoch: epoch) } catch { throw .integrity }
    }

    // MARK: Rows

    /// Appends a row's contents, sealed in the newest epoch.
    func seal(row plaintext: Bytes, _ kind: Kind, scope: Bytes, key: Bytes, to output: inout ByteBuffer) {
        begin(kind, epoch)
        associated.append(prefixed: scope)
        associated.append(prefixed: key)
        appendPrefix(kind, epoch, to: &output)
        AEAD.seal(plaintext, to: &output, key: newestHeads, associated: associated.bytes)
        associated.removeAll()
    }

    /// Opens a row into `output`, which is emptied first.
    /// - Throws: `.integrity` when it is not what was sealed there.
    func open(row sealed: Bytes, _ kind: Kind, scope: Bytes, key: Bytes, into output: inout SecretBuffer)
        throws(SecretsError)
    {
        output.removeAll()
        let epoch = try epoch(of: sealed, kind)
        let opening = try heads(epoch)
        begin(kind, epoch)
        associated.append(prefixed: scope)
        associated.append(prefixed: key)
        defer { associated.removeAll() }
        try open(sealed, into: &output, opening)
    }

    // MARK: Services' keys

    func seal(serviceKey: SecretKey, number: UInt32, of service: Bytes, to output: inout ByteBuffer) {
        begin(.serviceKey, epoch)
        associated.append(prefixed: service)
        associated.append(littleEndian: number)
        appendPrefix(.serviceKey, epoch, to: &output)
        AEAD.seal(key: serviceKey, to: &output, key: newestWrap, associated: associated.bytes)
        associated.removeAll()
    }

    func open(serviceKey sealed: Bytes, number: UInt32, of service: Bytes) throws(SecretsError) -> SecretKey {
        let epoch = try epoch(of: sealed, .serviceKey)
        let wrapping = try wrap(epoch)
        begin(.serviceKey, epoch)
        associated.append(prefixed: service)
        associated.append(littleEndian: number)
        defer { associated.removeAll() }
        return try openKey(sealed, wrapping)
    }

    // MARK: Versions

    /// Where a version belongs. The key is the service's, of that number.
    struct Place {
        var name: SecretName
        var version: UInt32
        var kind: UInt8
        var isDeviceOnly: Bool
        var serviceKeyNumber: UInt32
        var serviceKey: SecretKey
    }

    func seal(dataKey: SecretKey, _ place: Place, to output: inout ByteBuffer) throws(SecretsError) {
        let wrapping = try wrapping(place)
        begin(.dataKey, place)
        appendPrefix(.dataKey, place.serviceKeyNumber, to: &output)
        AEAD.seal(key: dataKey, to: &output, key: wrapping, associated: associated.bytes)
        associated.removeAll()
    }

    /// - Throws: `.otherHostKey` where the host's key alone can be wrong: the sealed key comes from a head that has opened.
    func open(dataKey sealed: Bytes, _ place: Place) throws(SecretsError) -> SecretKey {
        guard try epoch(of: sealed, .dataKey) == place.serviceKeyNumber else { throw .integrity }
        let wrapping = try wrapping(place)
        begin(.dataKey, place)
        defer { associated.removeAll() }
        do throws(SecretsError) { return try openKey(sealed, wrapping) } catch {
            throw error == .integrity && place.isDeviceOnly ? .otherHostKey : error
        }
    }

    func seal(value: Bytes, _ place: Place, dataKey: SecretKey, to output: inout ByteBuffer) {
        begin(.value, place)
        output.reserve(value.count + Self.overhead)
        appendPrefix(.value, place.serviceKeyNumber, to: &output)
        AEAD.seal(value, to: &output, key: dataKey, associated: associated.bytes)
        associated.removeAll()
    }

    func open(value sealed: Bytes, _ place: Place, dataKey: SecretKey, into output: inout SecretBuffer)
        throws(SecretsError)
    {
        output.removeAll()
        // Rewrapping a key leaves its value as it is.
        let number = try epoch(of: sealed, .value)
        begin(.value, place, number)
        defer { associated.removeAll() }
        try open(sealed, into: &output, dataKey)
    }

    /// Whether `open` would take it, of so many bytes. Nothing is opened for that.
    func isWhole(value sealed: Bytes, _ place: Place, dataKey: SecretKey, size: Int) -> Bool {
        guard sealed.count == size + Self.overhead, let number = Self.epoch(in: sealed, .value) else { return false }
        begin(.value, place, number)
        defer { associated.removeAll() }
        return AEAD.isWhole(
            sealed.extracting(Self.prefixBytes..<sealed.count), key: dataKey, associated: associated.bytes)
    }

    /// The same with nothing at hand but the version's own key.
    static func open(
        value sealed: Bytes, _ name: SecretName, version: UInt32, kind: UInt8, isDeviceOnly: Bool, storeID: [UInt8],
        dataKey: SecretKey, into output: inout SecretBuffer
    ) throws(SecretsError) {
        output.removeAll()
        guard sealed.count >= overhead, sealed[0] == suite, sealed[1] == Kind.value.rawValue else { throw .integrity }
        let number = UInt32(littleEndian: sealed.loadUnaligned(fromByteOffset: 2, as: UInt32.self))
        var associated = ByteBuffer()
        associated.wipes = true
        begin(.value, number, storeID, &associated)
        append(name, version: version, kind: kind, isDeviceOnly: isDeviceOnly, to: &associated)
        do throws(SodiumError) {
            try AEAD.open(
                sealed.extracting(prefixBytes..<sealed.count), into: &output, key: dataKey,
                associated: associated.bytes)
        } catch { throw .integrity }
    }

    private static func begin(_ kind: Kind, _ epoch: UInt32, _ storeID: [UInt8], _ associated: inout ByteBuffer) {
        associated.removeAll()
        associated.append("kura.secrets")
        associated.append(suite)
        associated.append(kind.rawValue)
        associated.append(littleEndian: epoch)
        associated.append(prefixed: storeID)
    }

    private static func append(
        _ name: SecretName, version: UInt32, kind: UInt8, isDeviceOnly: Bool, to associated: inout ByteBuffer
    ) {
        associated.append(prefixed: name.service)
        associated.append(prefixed: name.account)
        associated.append(prefixed: name.group)
        associated.append(littleEndian: version)
        associated.append(kind)
        associated.append(isDeviceOnly ? 1 : 0)
    }

    /// The key that data keys are sealed with: the service's, and for what must not leave this host one of both.
    private func wrapping(_ place: Place) throws(SecretsError) -> SecretKey {
        guard place.isDeviceOnly else { return place.serviceKey }
        guard let host = ring.hostKey else { throw .otherHostKey }
        var mixed = ByteBuffer(capacity: KeyedHash.digestBytes)
        mixed.wipes = true
        place.serviceKey.withBytes { KeyedHash.append($0, key: host, to: &mixed) }
        do throws(SodiumError) { return try SecretKey(copying: mixed.bytes) } catch { throw .engine(.overloaded) }
    }

    // MARK: Digests

    /// What a row adds to its set's sum.
    func element(scope: Bytes, key: Bytes, rev: UInt64, row: Bytes) -> SetSum {
        associated.removeAll()
        associated.append(prefixed: scope)
        associated.append(prefixed: key)
        associated.append(littleEndian: rev)
        associated.append(prefixed: row)
        var digest = ByteBuffer(capacity: KeyedHash.digestBytes)
        KeyedHash.append(associated.bytes, key: chain, to: &digest)
        associated.removeAll()
        return SetSum(digest.bytes)
    }

    /// The chain's head behind a change that has made `element` of its service's record.
    func link(_ chain: SetSum, _ changes: UInt64, _ element: SetSum) -> SetSum {
        associated.removeAll()
        associated.append("chain")
        chain.append(to: &associated)
        associated.append(littleEndian: changes)
        element.append(to: &associated)
        var digest = ByteBuffer(capacity: KeyedHash.digestBytes)
        KeyedHash.append(associated.bytes, key: self.chain, to: &digest)
        associated.removeAll()
        return SetSum(digest.bytes)
    }

    // MARK: Parts

    private func begin(_ kind: Kind, _ epoch: UInt32) { Self.begin(kind, epoch, storeID, &associated) }

    private func begin(_ kind: Kind, _ place: Place, _ number: UInt32? = nil) {
        begin(kind, number ?? place.serviceKeyNumber)
        Self.append(
            place.name, version: place.version, kind: place.kind, isDeviceOnly: place.isDeviceOnly, to: &associated)
    }

    private func appendPrefix(_ kind: Kind, _ epoch: UInt32, to output: inout ByteBuffer) {
        output.append(Self.suite)
        output.append(kind.rawValue)
        output.append(littleEndian: epoch)
    }

    private func epoch(of sealed: Bytes, _ kind: Kind) throws(SecretsError) -> UInt32 {
        guard let epoch = Self.epoch(in: sealed, kind) else { throw .integrity }
        return epoch
    }

    /// What a row says in clear of the key that it is sealed with; nil when it is no such row.
    static func epoch(in sealed: Bytes, _ kind: Kind) -> UInt32? {
        guard sealed.count >= overhead, sealed[0] == suite, sealed[1] == kind.rawValue else { return nil }
        return UInt32(littleEndian: sealed.loadUnaligned(fromByteOffset: 2, as: UInt32.self))
    }

    private func open(_ sealed: Bytes, into output: inout SecretBuffer, _ key: SecretKey) throws(SecretsError) {
        do throws(SodiumError) {
            try AEAD.open(
                sealed.extracting(Self.prefixBytes..<sealed.count), into: &output, key: key,
                associated: associated.bytes)
        } catch { throw .integrity }
    }

    private func openKey(_ sealed: Bytes, _ key: SecretKey) throws(SecretsError) -> SecretKey {
        do throws(SodiumError) {
            return try AEAD.openKey(
                sealed.extracting(Self.prefixBytes..<sealed.count), key: key, associated: associated.bytes)
        } catch { throw error == .outOfMemory ? .engine(.overloaded) : .integrity }
    }
}

extension ByteBuffer {
    fileprivate mutating func append(prefixed bytes: [UInt8]) { bytes.withBytes { append(prefixed: $0) } }
}
