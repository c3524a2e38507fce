import KuraSocket
import KuraStorage
import KuraTransport

/// Who is at the other end of a connection, what it may do, and what it has said of itself.
struct ConnectedClient {
    let peer: PeerCredentials?
    /// What its user has of what all share.
    let use: UserUse
    /// Where it came in; that may be closed by now.
    var door: DaemonSocket?
    /// Its role and what binds it.
    var admission: AccessControl.Admission { didSet { knownProgram = nil } }
    /// What it called itself in `session.hello`.
    private(set) var name: [UInt8] = []
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

    /// What it may do; nil: everything.
    var permissions: Permissions? { admission.permissions }
    /// Its user, as the kernel tells.
    var uid: UInt32 { peer?.uid ?? .max }

    /// It says who it is. What it writes from now on is written under this name.
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
