import KuraSocket
import KuraStorage
import KuraTransport

/// The client of a connection: its user, its role and quotas, and what `session.hello` has declared.
struct ConnectedClient {
    let peer: PeerCredentials?
    /// What its user has of what all share.
    let use: UserUse
    /// Where it came in; that may be closed by now.
    var door: DaemonSocket?
    /// Its role and what binds it.
    var admission: AccessControl.Admission { didSet { knownProgram = nil } }
    /// Its name, with its version behind a slash, as `session.hello` gives it; empty without.
    private(set) var name: [UInt8] = []
    /// The author of its changes; nil before the first change, and after a change of name or role.
    private var knownProgram: Author.Program?
    /// Which installation of the application it says to be; empty when it does not.
    var installation: [UInt8] = []
    /// Settings that it has overridden for itself; nil without.
    var overrides: SessionOverrides?
    /// The versions of collections that it knows; nil when it has declared none.
    var declaredVersions: DeclaredVersions?

    init(peer: PeerCredentials?, admission: AccessControl.Admission, use: UserUse = UserUse(uid: .max)) {
        self.peer = peer
        self.admission = admission
        self.use = use
    }

    /// The grants of its role; nil when everything is granted.
    var permissions: Permissions? { admission.permissions }
    /// Its user, as the kernel tells.
    var uid: UInt32 { peer?.uid ?? .max }

    /// Sets the client's name. Its changes carry the name from now on.
    mutating func introduce(as name: [UInt8]) {
        self.name = name
        knownProgram = nil
    }

    /// The client as an author of changes; made for the first of them, and anew when it is introduced or admitted otherwise.
    @inline(__always)
    mutating func program(_ storage: isolated Storage) -> Author.Program {
        if let knownProgram { return knownProgram }
        let program = storage.program(name, user: uid, accounts: admission.accounts)
        knownProgram = program
        return program
    }
}
