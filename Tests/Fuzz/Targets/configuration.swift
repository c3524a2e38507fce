import KuraBytes
import KuraProtocol
import KuraStorage

@testable import KuraServer

/// The configuration file and the file of settings locks: the first byte chooses.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ data: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    withInput(data, count) { input in
        guard let first = input.first else { return }
        withExactBytes(Bytes(rebasing: input[1...])) { text in
            let plain = PlainJSON.parse(Array(text))
            let members: [PlainJSON.Member]? =
                if let plain, plain.isWire, case .object(let members) = plain.value { members } else { nil }
            if first % 2 == 0 { checkConfiguration(text, members) } else { checkLocks(text, members) }
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
    // White space means nothing.
    var compact = ByteBuffer()
    JSONText.compact(text, into: &compact)
    check(read(compact.bytes)?.dataDirectory == found.dataDirectory, "the compact text says the same")
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
