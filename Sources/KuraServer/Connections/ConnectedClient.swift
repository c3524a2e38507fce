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
    var admission: AccessControl.Admission
    /// What it called itself in `session.hello`.
    private(set) var name: [UInt8] = []
    /// Its number on the write bill; nil until it is asked for.
    private var number: UInt16?
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

    /// It says who it is. What it writes from now on stands under this name on the bill.
    mutating func introduce(as name: [UInt8]) {
        self.name = name
        number = nil
    }

    /// Its number on the write bill, which is looked up once for a name.
    mutating func billNumber(_ storage: isolated Storage) -> UInt16 {
        if let number { return number }
        let number = storage.billNumber(of: name, user: uid)
        self.number = number
        return number
    }

    /// The same when it has been asked for; nil for a client that has written nothing yet.
    var knownBillNumber: UInt16? { number }
}
