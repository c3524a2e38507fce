import KuraBytes
import Glibc
import KuraProtocol
import KuraStorage
import KuraTransport

/// `sockets` and `roles` of the configuration file. Whatever is wrong is refused with the place where it stands.
extension AccessRules {
    typealias Text = Bytes
    private typealias Refusal = Configuration.Refusal

    mutating func read(sockets text: Text) throws(Configuration.Refusal) {
        try Self.forEachElement(text, "sockets") { (element, place) throws(Refusal) in
            sockets.append(try Self.socket(element, place))
        }
        guard !sockets.isEmpty else { throw Refusal(description: "sockets: at least one") }
    }

    mutating func read(roles text: Text) throws(Configuration.Refusal) {
        try Self.forEachMember(text, "roles") { (name, value) throws(Refusal) in
            guard (1...64).contains(name.utf8.count), name.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
                throw Refusal(description: "roles: a name has 1 to 64 bytes and no control characters")
            }
            guard name != Self.admin else {
                throw Refusal(description: "roles.admin: this role may do everything and is not configured")
            }
            // Names that differ in how their letters are composed alone are one to Swift, and would share their grants.
            guard roles[name] == nil else {
                throw Refusal(description: "roles.\(name): comes twice, with its letters composed in two ways")
            }
            roles[name] = try Self.role(value, "roles.\(name)")
        }
    }

    /// What only shows when everything has been read.
    func check() throws(Configuration.Refusal) {
        var paths: Set<String> = []
        var names: Set<String> = []
        for (index, socket) in sockets.enumerated() {
            guard socket.path.isEmpty || paths.insert(socket.path).inserted else {
                throw Refusal(description: "sockets[\(index)].path: \(socket.path) comes twice")
            }
            if let name = socket.name, !names.insert(name).inserted {
                throw Refusal(description: "sockets[\(index)].name: \(name) comes twice")
            }
            for role in socket.roles.map(\.role) + (socket.role.map { [$0] } ?? []) {
                guard role == Self.admin || roles[role] != nil else {
                    throw Refusal(description: "sockets[\(index)]: there is no role \"\(role)\"")
                }
            }
        }
    }

    // MARK: Sockets

    private static func socket(_ text: Text, _ place: String) throws(Refusal) -> Socket {
        var socket = Socket(path: "")
        try forEachMember(text, place) { (name, value) throws(Refusal) in
            let here = "\(place).\(name)"
            switch name {
            case "name": socket.name = try word(value, here)
            case "path":
                socket.path = try word(value, here)
                guard socket.path.hasPrefix("/") else { throw Refusal(description: "\(here) is an absolute path") }
                guard socket.path.utf8.count <= Listener.pathLimit else {
                    throw Refusal(description: "\(here): more than \(Listener.pathLimit) bytes: \(socket.path)")
                }
            case "owner": socket.owner = try user(value, here)
            case "group": socket.group = try group(value, here)
            case "mode": socket.mode = try mode(value, here)
            case "role": socket.role = try word(value, here)
            case "roles":
                try forEachElement(value, here) { (element, place) throws(Refusal) in
                    socket.roles.append(try assignment(element, place))
                }
            default:
                throw Refusal(
                    description:
                        "\(place): unknown key \"\(name)\"; known are name, path, owner, group, mode, role, roles")
            }
        }
        guard !socket.path.isEmpty || socket.name != nil else {
            throw Refusal(description: "\(place): path is missing, and no name under which a socket could be passed")
        }
        guard socket.role != nil || !socket.roles.isEmpty else {
            throw Refusal(description: "\(place): role or roles is missing: nobody could do anything there")
        }
        return socket
    }

    private static func assignment(_ text: Text, _ place: String) throws(Refusal) -> Assignment {
        var who: Assignment.Who?
        var role: String?
        try forEachMember(text, place) { (name, value) throws(Refusal) in
            let here = "\(place).\(name)"
            if name == "role" {
                role = try word(value, here)
                return
            }
            guard who == nil else { throw Refusal(description: "\(place): one of uid, gid, user and group") }
            switch name {
            case "uid": who = .uid(try number(value, here))
            case "gid": who = .gid(try number(value, here))
            case "user": who = .uid(try user(value, here))
            case "group": who = .gid(try group(value, here))
            default:
                throw Refusal(
                    description: "\(place): unknown key \"\(name)\"; known are uid, gid, user, group, role")
            }
        }
        guard let who, let role else {
            throw Refusal(description: "\(place): role and one of uid, gid, user and group")
        }
        switch who {
        case .uid(PeerCredentials.overflow.uid), .gid(PeerCredentials.overflow.gid):
            throw Refusal(
                description: "\(place): the overflow number stands for everybody whom the kernel cannot name: nobody")
        default: return Assignment(who: who, role: role)
        }
    }

    /// Octal digits as chmod(1) takes them; no set-id and sticky bits, which mean nothing for a socket.
    private static func mode(_ value: Text, _ place: String) throws(Refusal) -> UInt32 {
        let digits = try word(value, place)
        guard (3...4).contains(digits.utf8.count), let mode = UInt32(digits, radix: 8), mode <= 0o777,
            !digits.hasPrefix("+")
        else { throw Refusal(description: "\(place) is a string of octal digits such as \"0660\"") }
        return mode
    }

    // MARK: Roles

    private static func role(_ text: Text, _ place: String) throws(Refusal) -> Role {
        var role = Role()
        try forEachMember(text, place) { (name, value) throws(Refusal) in
            switch name {
            case "grants":
                try forEachElement(value, "\(place).grants") { (element, place) throws(Refusal) in
                    role.grants += try grants(element, place)
                }
            case "quotas": try read(quotas: value, into: &role, "\(place).quotas")
            case "auditFailure":
                guard let known = AccessRules.AuditFailure(rawValue: try word(value, "\(place).auditFailure")) else {
                    throw Refusal(description: "\(place).auditFailure is \"closed\" or \"open\"")
                }
                role.auditFailure = known
            default:
                throw Refusal(
                    description: "\(place): unknown key \"\(name)\"; known are grants, quotas, auditFailure")
            }
        }
        let writable = role.grants.filter { !$0.verbs.isDisjoint(with: .write) }
        guard !role.hasQuota || !writable.isEmpty else {
            throw Refusal(description: "\(place).quotas: no grant of the role lets it write")
        }
        guard !role.hasUserQuota || writable.contains(where: { $0.scope.namesUser }) else {
            throw Refusal(
                description: "\(place).quotas.perUid: no grant that lets the role write has {uid} in its scope")
        }
        return role
    }

    /// What one object grants. With all stores at once `read` is not about secrets: reading those in clear is granted by name.
    private static func grants(_ text: Text, _ place: String) throws(Refusal) -> [Grant] {
        var stores: [Method.Store] = []
        var scope: ScopePattern?
        var verbs: Verbs = []
        var accessGroup: ScopePattern?
        var isAboutAll = false
        let known = Method.Store.granted
        try forEachMember(text, place) { (name, value) throws(Refusal) in
            let here = "\(place).\(name)"
            switch name {
            case "store":
                let word = try word(value, here)
                isAboutAll = word == "*"
                stores = isAboutAll ? known : known.filter { $0.rawValue == word }
                guard !stores.isEmpty else {
                    throw Refusal(
                        description: "\(here): no store \"\(word)\"; there are "
                            + known.map(\.rawValue).joined(separator: ", ") + " and *")
                }
            case "scope":
                do throws(Refusal) { scope = try ScopePattern(try self.word(value, here)) } catch {
                    throw Refusal(description: "\(here): \(error.description)")
                }
            case "allow":
                try forEachElement(value, here) { (element, place) throws(Refusal) in
                    let word = try self.word(element, place)
                    guard let verb = Verbs(word: word) else {
                        throw Refusal(
                            description: "\(place): no verb \"\(word)\"; there are "
                                + Verbs.all.names.joined(separator: ", ") + " and write")
                    }
                    verbs.formUnion(verb)
                }
            case "accessGroup":
                do throws(Refusal) { accessGroup = try ScopePattern(try self.word(value, here)) } catch {
                    throw Refusal(description: "\(here): \(error.description)")
                }
            default:
                throw Refusal(
                    description: "\(place): unknown key \"\(name)\"; known are store, scope, allow, accessGroup")
            }
        }
        guard !stores.isEmpty, let scope, !verbs.isEmpty else {
            throw Refusal(description: "\(place): store, scope and allow, none of them empty")
        }
        guard stores != [.storage] || scope.text == "*" else {
            throw Refusal(description: "\(place).scope: the storage has no scopes, so this is \"*\"")
        }
        guard accessGroup == nil || stores == [.secrets] else {
            throw Refusal(description: "\(place).accessGroup: only secrets have access groups")
        }
        guard verbs.isDisjoint(with: [.monitor, .backup]) || stores.contains(.storage) else {
            throw Refusal(description: "\(place).allow: monitor and backup are of the store \"storage\"")
        }
        guard isAboutAll, verbs.contains(.read) else {
            return [Grant(stores: stores, scope: scope, verbs: verbs, accessGroup: accessGroup)]
        }
        let others = Grant(stores: known.filter { $0 != .secrets }, scope: scope, verbs: verbs)
        let left = verbs.subtracting(.read)
        return left.isEmpty ? [others] : [others, Grant(stores: [.secrets], scope: scope, verbs: left)]
    }

    private static func read(quotas text: Text, into role: inout Role, _ place: String) throws(Refusal) {
        try forEachMember(text, place) { (name, value) throws(Refusal) in
            let here = "\(place).\(name)"
            switch name {
            case "bytes": role.quota.bytes = try bound(value, here)
            case "items": role.quota.items = try bound(value, here)
            case "scopes": role.quota.scopes = try bound(value, here)
            case "perUid":
                try forEachMember(value, here) { (name, value) throws(Refusal) in
                    switch name {
                    case "bytes": role.perUser.bytes = try bound(value, "\(here).bytes")
                    case "items": role.perUser.items = try bound(value, "\(here).items")
                    case "scopes": role.perUser.scopes = try bound(value, "\(here).scopes")
                    default:
                        throw Refusal(description: "\(here): unknown key \"\(name)\"; known are bytes, items, scopes")
                    }
                }
            default:
                throw Refusal(description: "\(place): unknown key \"\(name)\"; known are bytes, items, scopes, perUid")
            }
        }
    }

    // MARK: Values

    private static func word(_ value: Text, _ place: String) throws(Refusal) -> String {
        let storage = WalkStorage()
        let text = JSONWalk.string(value, storage: storage)
        // The bytes may lie in the storage.
        let word = withExtendedLifetime(storage) { text.map { String(decoding: $0, as: UTF8.self) } }
        guard let word, !word.isEmpty, !word.utf8.contains(0) else {
            throw Refusal(description: "\(place) is a string that is not empty")
        }
        return word
    }

    private static func bound(_ value: Text, _ place: String) throws(Refusal) -> Int {
        guard let number = RequestReader.integer(value), (0...WireLimits.safeInteger).contains(number) else {
            throw Refusal(description: "\(place) is a whole number from 0 to 2^53 - 1")
        }
        return Int(number)
    }

    /// A user's or group's number. The largest means "leave it as it is" to chown(2), so it is none.
    private static func number(_ value: Text, _ place: String) throws(Refusal) -> UInt32 {
        guard let number = RequestReader.integer(value), (0..<Int64(UInt32.max)).contains(number) else {
            throw Refusal(description: "\(place) is a whole number from 0 to \(UInt32.max - 1)")
        }
        return UInt32(number)
    }

    private static func user(_ value: Text, _ place: String) throws(Refusal) -> UInt32 {
        try nameOrNumber(value, place, "user", UserNames.uid)
    }

    private static func group(_ value: Text, _ place: String) throws(Refusal) -> UInt32 {
        try nameOrNumber(value, place, "group", UserNames.gid)
    }

    private static func nameOrNumber(
        _ value: Text, _ place: String, _ kind: String, _ find: (String) -> UInt32?
    ) throws(Refusal) -> UInt32 {
        guard value.first == UInt8(ascii: "\"") else { return try number(value, place) }
        let name = try word(value, place)
        guard let number = find(name) else {
            throw Refusal(description: "\(place): this host has no \(kind) \"\(name)\"")
        }
        return number
    }

    private static func forEachMember(
        _ object: Text, _ place: String, _ body: (String, Text) throws(Refusal) -> Void
    ) throws(Refusal) {
        guard object.first == UInt8(ascii: "{") else { throw Refusal(description: "\(place) is an object") }
        var walk = JSONWalk(object, storage: WalkStorage())
        while let (name, value) = walk.nextMember() { try body(String(decoding: name, as: UTF8.self), value) }
    }

    private static func forEachElement(
        _ array: Text, _ place: String, _ body: (Text, String) throws(Refusal) -> Void
    ) throws(Refusal) {
        guard array.first == UInt8(ascii: "[") else { throw Refusal(description: "\(place) is an array") }
        var walk = JSONWalk(array, storage: WalkStorage())
        var index = 0
        while let element = walk.nextElement() {
            try body(element, "\(place)[\(index)]")
            index += 1
        }
    }
}
