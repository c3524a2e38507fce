import KuraBytes
import KuraProtocol
import KuraStorage

@testable import KuraServer

/// The configuration file, the file of settings locks, and a grant's pattern of scopes with (behind the byte 0x1E) a scope: the
/// first byte chooses.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ data: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    withInput(data, count) { input in
        guard let first = input.first else { return }
        withExactBytes(Bytes(rebasing: input[1...])) { text in
            guard first % 3 != 2 else { return checkPattern(Array(text)) }
            let plain = PlainJSON.parse(Array(text))
            let members: [PlainJSON.Member]? =
                if let plain, plain.isWire, case .object(let members) = plain.value { members } else { nil }
            if first % 3 == 0 { checkConfiguration(text, members) } else { checkLocks(text, members) }
        }
    }
    return 0
}

private func checkConfiguration(_ text: Bytes, _ members: [PlainJSON.Member]?) {
    guard let found = read(text) else { return }
    guard let members else { return check(false, "what is taken in is an object by the wire's grammar") }
    func member(_ name: String, of members: [PlainJSON.Member]) -> PlainJSON? {
        members.first { $0.name == Array(name.utf8) }?.value
    }
    func word(_ name: String) -> String? {
        guard case .string(let contents)? = member(name, of: members) else { return nil }
        return String(decoding: contents, as: UTF8.self)
    }
    check(found.dataDirectory == word("dataDir"), "dataDir")
    check(found.socket == word("socket"), "socket")
    check(found.settingsLocks == word("settingsLocks"), "settingsLocks")
    check(word("profile").map { $0 == found.profile.rawValue } ?? true, "profile")
    check(found.importRoots.allSatisfy { $0.hasPrefix("/") }, "roots are absolute")
    if case .array(let roots)? = member("importRoots", of: members) {
        check(roots.count == found.importRoots.count, "all roots are taken")
    }
    if case .object(let limits)? = member("limits", of: members) {
        func limit(_ name: String) -> Int? {
            guard case .number(let digits)? = member(name, of: limits) else { return nil }
            return digits.withBytes { JSONNumber.integer($0) }.map { Int($0) }
        }
        check(limit("lineBytes").map { $0 == found.limits.lineBytes && (1024...64 << 20) ~= $0 } ?? true, "lineBytes")
        check(limit("connections").map { $0 == found.limits.connections && $0 > 0 } ?? true, "connections")
        check(limit("outputBytes").map { $0 == found.limits.outputBytes && $0 >= 4096 } ?? true, "outputBytes")
    }
    checkAccess(found.access, members)
    // White space means nothing.
    var compact = ByteBuffer()
    JSONText.compact(text, into: &compact)
    check(read(compact.bytes)?.dataDirectory == found.dataDirectory, "the compact text says the same")
}

/// Every socket, role and grant that is written down is there, and nothing grants more than it says.
private func checkAccess(_ found: AccessRules, _ members: [PlainJSON.Member]) {
    func member(_ name: String, of members: [PlainJSON.Member]) -> PlainJSON? {
        members.first { $0.name == Array(name.utf8) }?.value
    }
    if case .array(let sockets)? = member("sockets", of: members) {
        check(sockets.count == found.sockets.count, "all sockets are there")
        for socket in found.sockets {
            let named = socket.roles.map(\.role) + (socket.role.map { [$0] } ?? [])
            let areThere = named.allSatisfy { $0 == AccessRules.admin || found.roles[$0] != nil }
            check(!named.isEmpty && areThere, "their roles")
        }
    } else {
        check(found.sockets.isEmpty, "no socket is made up")
    }
    guard case .object(let roles)? = member("roles", of: members) else {
        return check(found.roles.isEmpty, "no role is made up")
    }
    check(found.roles.count == roles.count && found.roles[AccessRules.admin] == nil, "all roles are there")
    for role in roles {
        guard let read = found.roles[String(decoding: role.name, as: UTF8.self)], case .object(let parts) = role.value
        else { return check(false, "the role is there") }
        var count = 0
        if case .array(let grants)? = member("grants", of: parts) { count = grants.count }
        check(read.grants.count == count, "all its grants are there")
        check(read.grants.allSatisfy { !$0.verbs.isEmpty && !$0.stores.isEmpty }, "none of them is empty")
    }
}

/// A pattern against a scope, for some users, as trying everything has it.
private func checkPattern(_ text: [UInt8]) {
    let parts = text.split(separator: 0x1E, maxSplits: 1, omittingEmptySubsequences: false).map(Array.init)
    guard let word = String(validating: parts[0], as: UTF8.self), let pattern = try? ScopePattern(word) else { return }
    let scope = parts.count > 1 ? parts[1] : parts[0]
    guard scope.count < 200 else { return }
    let numbers = scope.split { !(0x30...0x39).contains($0) }.compactMap { UInt32(String(decoding: $0, as: UTF8.self)) }
    var users: Set<UInt32> = []
    withExactBytes(scope) { bytes in
        for uid in Set([0, 7, .max] + numbers) {
            let written = Array(pattern.text(for: uid).utf8)
            let fits = plainMatch(written[...], scope[...])
            check(pattern.matches(bytes, uid: uid) == fits, "\(word) for \(uid)")
            if fits, pattern.namesUser { users.insert(uid) }
        }
        check(users.count <= 1, "no two users share a scope")
        check(pattern.user(of: bytes) == users.first, "whose scope it is")
    }
}

/// `*` stands for any bytes, everything else for itself: every length of the first star is tried, in a table.
private func plainMatch(_ pattern: ArraySlice<UInt8>, _ scope: ArraySlice<UInt8>) -> Bool {
    // Which lengths of the scope's beginning fit the pattern so far.
    var fitting = [Bool](repeating: false, count: scope.count + 1)
    fitting[0] = true
    for byte in pattern {
        var next = [Bool](repeating: false, count: scope.count + 1)
        if byte == UInt8(ascii: "*") {
            var isReached = false
            for length in fitting.indices {
                isReached = isReached || fitting[length]
                next[length] = isReached
            }
        } else {
            for length in 0..<scope.count where fitting[length] {
                next[length + 1] = scope[scope.startIndex + length] == byte
            }
        }
        fitting = next
    }
    return fitting[scope.count]
}

private func read(_ text: Bytes) -> Configuration? {
    var configuration = Configuration()
    do throws(Configuration.Refusal) {
        try configuration.read(text)
        return configuration
    } catch {
        check(!error.description.isEmpty, "a refusal says why")
        return nil
    }
}

private func checkLocks(_ text: Bytes, _ members: [PlainJSON.Member]?) {
    guard let found = try? SettingsLocks(text: Array(text)) else { return }
    guard let members else { return check(false, "what is taken in is an object by the wire's grammar") }
    var count = 0
    for domain in members {
        guard case .object(let keys) = domain.value else { return check(false, "a domain's locks are an object") }
        count += keys.count
        withExactBytes(domain.name) { name in
            guard let table = found[name] else { return check(keys.isEmpty, "the domain is there") }
            check(table.count == keys.count, "all its locks are there")
            for key in keys { checkLock(table, key) }
            for index in table.items.indices.dropFirst() {
                let before = Array(table.key(index - 1))
                check(before.lexicographicallyPrecedes(Array(table.key(index))), "keys stand in order")
            }
        }
    }
    check(found.count == count, "the count")
}

private func checkLock(_ table: LayerTable, _ key: PlainJSON.Member) {
    guard case .object(let lock) = key.value else { return check(false, "a lock is an object") }
    withExactBytes(key.name) { name in
        guard let index = table.index(of: name) else { return check(false, "the lock is found") }
        let value = lock.first { $0.name == Array("value".utf8) }?.value
        let reason = lock.first { $0.name == Array("reason".utf8) }?.value
        check(PlainJSON.parse(Array(table.value(index)))?.value == value, "the lock's value")
        check(reason == .string(Array(table.reason(index))), "the lock's reason")
    }
}
