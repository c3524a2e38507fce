import KuraBytes
import Sodium
import Testing

@testable import KuraStorage

/// What a seal names besides what is inside, spelled out once more: the sums over rows would hide a part that is left out, and what was
/// sealed has to open in later versions.
@Suite struct SecretSealerTests {
    private let world = KeyWorld()
    private let ring: KeyRing
    private let sealer: SecretSealer

    init() throws {
        ring = world.keeper().ring
        sealer = try SecretSealer(ring)
    }

    /// The same keys in a store of another id.
    private func otherStore() throws -> SecretSealer {
        var keys = try #require(ring.opened)
        keys.slots.storeID[0] ^= 1
        return try SecretSealer(KeyRing(hostKey: ring.hostKey, .success(keys), slots: keys.slots))
    }

    // MARK: Spelling

    private static func number(_ number: UInt32) -> [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: number >> UInt32($0 * 8)) }
    }

    private static func text(_ bytes: [UInt8]) -> [UInt8] { number(UInt32(bytes.count)) + bytes }
    private static func text(_ text: String) -> [UInt8] { Self.text(Array(text.utf8)) }

    private func named(_ kind: SecretSealer.Kind, _ number: UInt32, _ parts: [UInt8]...) -> [UInt8] {
        Array("kura.secrets".utf8) + [1, kind.rawValue] + Self.number(number) + Self.text(ring.storeID)
            + parts.joined()
    }

    /// What is inside of a seal that names these.
    private func open(
        _ sealed: [UInt8], _ kind: SecretSealer.Kind, _ number: UInt32, _ key: SecretKey, _ named: [UInt8]
    )
        throws -> [UInt8]
    {
        #expect(Array(sealed[..<SecretSealer.prefixBytes]) == [1, kind.rawValue] + Self.number(number))
        var opened = SecretBuffer()
        try Array(sealed[SecretSealer.prefixBytes...]).lend { (sealed) throws(SodiumError) in
            try named.lend { (named) throws(SodiumError) in
                try AEAD.open(sealed, into: &opened, key: key, associated: named)
            }
        }
        return Array(opened.bytes)
    }

    private func sealed(_ body: (inout ByteBuffer) throws(SecretsError) -> Void) throws -> [UInt8] {
        var output = ByteBuffer()
        try body(&output)
        return Array(output.bytes)
    }

    /// Whether it opens; nothing but `integrity` keeps it from that.
    private func opens(_ sealed: [UInt8], _ body: (Bytes, inout SecretBuffer) throws(SecretsError) -> Void) -> Bool {
        var output = SecretBuffer()
        do throws(SecretsError) {
            try sealed.lend { (sealed) throws(SecretsError) in try body(sealed, &output) }
            return true
        } catch {
            let isExpected = error == .integrity || error == .otherHostKey
            if !isExpected || !output.isEmpty { Issue.record("\(error)") }
            return false
        }
    }

    // MARK: Rows

    @Test func `a row's seal names suite, kind, epoch, store, scope and key`() throws {
        let sealed = try sealed { (output) throws(SecretsError) in
            with("inside", "the scope", "key") { sealer.seal(row: $0, .head, scope: $1, key: $2, to: &output) }
        }
        let named = named(.head, sealer.epoch, Self.text("the scope"), Self.text("key"))
        let opened = try open(sealed, .head, sealer.epoch, ring.key(.heads), named)
        #expect(opened == Array("inside".utf8))
        let other = try otherStore()
        for (sealer, kind, scope, key) in [
            (sealer, SecretSealer.Kind.service, "the scope", "key"), (sealer, .head, "another", "key"),
            (sealer, .head, "the scope", "kez"), (sealer, .head, "the scop", "ekey"),
            (other, .head, "the scope", "key"),
        ] {
            let isOpen = opens(sealed) { (sealed, output) throws(SecretsError) in
                try with(scope, key) { (scope, key) throws(SecretsError) in
                    try sealer.open(row: sealed, kind, scope: scope, key: key, into: &output)
                }
            }
            #expect(!isOpen, "\(kind) of \(scope) \(key)")
        }
    }

    @Test func `the seal of a service's key names the service and the key's number`() throws {
        let key = try SecretKey()
        let sealed = try sealed { (output) throws(SecretsError) in
            with("mail") { sealer.seal(serviceKey: key, number: 7, of: $0, to: &output) }
        }
        let named = named(.serviceKey, sealer.epoch, Self.text("mail"), Self.number(7))
        let opened = try open(sealed, .serviceKey, sealer.epoch, ring.key(.wrap), named)
        #expect(opened == key.array)
        for (service, number) in [("mail", UInt32(8)), ("mai", 7), ("bail", 7)] {
            let isOpen = opens(sealed) { (sealed, _) throws(SecretsError) in
                try with(service) { (service) throws(SecretsError) in
                    _ = try sealer.open(serviceKey: sealed, number: number, of: service)
                }
            }
            #expect(!isOpen, "\(service) \(number)")
        }
    }

    // MARK: Versions

    private struct Names {
        var service = "mail"
        var account = "ada"
        var group = "team"
        var version: UInt32 = 3
        var kind: UInt8 = 2
        var isDeviceOnly = false
        var number: UInt32 = 5
    }

    private func place<R>(_ names: Names, _ key: SecretKey, _ body: (SecretSealer.Place) throws(SecretsError) -> R)
        throws(SecretsError) -> R
    {
        try with(names.service, names.account, names.group) { (service, account, group) throws(SecretsError) in
            try body(
                SecretSealer.Place(
                    name: SecretName(service: service, account: account, group: group), version: names.version,
                    kind: names.kind, isDeviceOnly: names.isDeviceOnly, serviceKeyNumber: names.number, serviceKey: key)
            )
        }
    }

    private func opens(key sealed: [UInt8], _ names: Names, _ key: SecretKey, _ sealer: SecretSealer) -> Bool {
        opens(sealed) { (sealed, _) throws(SecretsError) in
            try place(names, key) { (place) throws(SecretsError) in _ = try sealer.open(dataKey: sealed, place) }
        }
    }

    private func opens(
        value sealed: [UInt8], _ names: Names, _ key: SecretKey, dataKey: SecretKey, _ sealer: SecretSealer
    ) -> Bool {
        opens(sealed) { (sealed, output) throws(SecretsError) in
            try place(names, key) { (place) throws(SecretsError) in
                try sealer.open(value: sealed, place, dataKey: dataKey, into: &output)
            }
        }
    }

    /// What a data key's or value's seal names for `Names()`.
    private static func parts(isDeviceOnly: Bool) -> [UInt8] {
        text("mail") + text("ada") + text("team") + number(3) + [2, isDeviceOnly ? 1 : 0]
    }

    @Test func `the seals of a version name its service, account, group, number, kind, flags and key`() throws {
        let (serviceKey, dataKey) = (try SecretKey(), try SecretKey())
        let key = try sealed { (output) throws(SecretsError) in
            try place(Names(), serviceKey) { (place) throws(SecretsError) in
                try sealer.seal(dataKey: dataKey, place, to: &output)
            }
        }
        let value = try sealed { (output) throws(SecretsError) in
            try place(Names(), serviceKey) { (place) throws(SecretsError) in
                with("inside") { sealer.seal(value: $0, place, dataKey: dataKey, to: &output) }
            }
        }
        let parts = Self.parts(isDeviceOnly: false)
        #expect(try open(key, .dataKey, 5, serviceKey, named(.dataKey, 5, parts)) == dataKey.array)
        #expect(try open(value, .value, 5, dataKey, named(.value, 5, parts)) == Array("inside".utf8))
        #expect(opens(key: key, Names(), serviceKey, sealer))
        #expect(opens(value: value, Names(), serviceKey, dataKey: dataKey, sealer))

        var others = [Names](repeating: Names(), count: 7)
        others[0].service = "nail"
        others[1].account = "eve"
        others[2].group = ""
        others[3].version = 4
        others[4].kind = 1
        others[5].isDeviceOnly = true
        // A name that begins where the one before ends.
        (others[6].service, others[6].account) = ("maila", "da")
        for (index, other) in others.enumerated() {
            #expect(!opens(key: key, other, serviceKey, sealer), "\(index)")
            #expect(!opens(value: value, other, serviceKey, dataKey: dataKey, sealer), "\(index)")
        }
        let store = try otherStore()
        #expect(!opens(key: key, Names(), serviceKey, store))
        #expect(!opens(value: value, Names(), serviceKey, dataKey: dataKey, store))
        // The number that stands in front is held against the seal, too.
        var relabelled = value
        relabelled[2] ^= 1
        #expect(!opens(value: relabelled, Names(), serviceKey, dataKey: dataKey, sealer))
    }

    @Test func `what stays on this host does not open with the service's key alone`() throws {
        let (serviceKey, dataKey) = (try SecretKey(), try SecretKey())
        var names = Names()
        names.isDeviceOnly = true
        let key = try sealed { (output) throws(SecretsError) in
            try place(names, serviceKey) { (place) throws(SecretsError) in
                try sealer.seal(dataKey: dataKey, place, to: &output)
            }
        }
        #expect(opens(key: key, names, serviceKey, sealer))
        let named = named(.dataKey, 5, Self.parts(isDeviceOnly: true))
        #expect(throws: SodiumError.forged) { try open(key, .dataKey, 5, serviceKey, named) }
    }

    // MARK: Hashes

    @Test func `who has not got the key cannot tell what a row is called`() throws {
        var scratch = ByteBuffer()
        let other = try SecretKey()
        with("mail", "ada") { service, account in
            let name = SecretName(service: service, account: account)
            let hash = NameHash(name, key: sealer.names, &scratch)
            #expect(hash == NameHash(name, key: sealer.names, &scratch))
            #expect(hash != NameHash(name, key: other, &scratch))
            let item = NameHash(service: service, key: sealer.names, &scratch)
            #expect(item != NameHash(service: service, key: other, &scratch) && item != hash)
        }
    }

    @Test func `a link says what came before it, how many changes there were, and what the record has become`() {
        func element(_ text: String, _ rev: UInt64 = 1) -> SetSum {
            with("scope", "key", text) { sealer.element(scope: $0, key: $1, rev: rev, row: $2) }
        }
        let (one, two) = (element("one"), element("two"))
        #expect(one != two && one != element("one", 2) && one == element("one"))
        let link = sealer.link(one, 1, two)
        #expect(link == sealer.link(one, 1, two))
        #expect(
            link != sealer.link(two, 1, two) && link != sealer.link(one, 2, two) && link != sealer.link(one, 1, one))
    }
}
