/// Whose a change is: an argument of everything that changes something.
///
/// It stands in the log beside the change and on the write bill, and says what bounds the change. A transaction has one from its beginning
/// to its end. What nobody has asked for, such as removing what has expired, is the daemon's own.
public struct Author {
    /// A program of a user as one of its connections has introduced it, with the quotas that bind it.
    public final class Program {
        /// What it calls itself, with its version behind a slash.
        let name: [UInt8]
        /// Its number on the write bill.
        let number: UInt16
        /// Mostly none.
        let accounts: [QuotaAccount]

        init(name: [UInt8], number: UInt16, accounts: [QuotaAccount]) {
            self.name = name
            self.number = number
            self.accounts = accounts
        }
    }

    /// nil: the daemon itself.
    private let program: Program?
    /// Whose line on the write bill it has.
    let payer: WriteBill.Payer
    /// The request only takes something away: it finds room where others are refused.
    let takesAway: Bool

    /// - Parameters:
    ///   - program: whose request it is.
    ///   - operation: the method's number in `BillKeeper.setOperations`.
    ///   - request: its number, which counts up from 1.
    ///   - takesAway: whether the request only takes something away.
    public init(_ program: Program?, operation: Int, request: UInt64, takesAway: Bool) {
        self.program = program
        payer = WriteBill.Payer(
            writer: program?.number ?? 0, operation: UInt16(truncatingIfNeeded: operation),
            request: UInt32(truncatingIfNeeded: request))
        self.takesAway = takesAway
    }

    /// The daemon itself. It has no name, no quota binds it, and no client pays for it.
    static var daemon: Self { daemon(takesAway: false) }

    static func daemon(takesAway: Bool) -> Self {
        Self(nil, operation: Int(UInt16.max), request: UInt64(WriteBill.Payer.daemonsRequest), takesAway: takesAway)
    }

    var name: [UInt8] { program?.name ?? [] }
    var accounts: [QuotaAccount] { program?.accounts ?? [] }
    var isBound: Bool { program?.accounts.isEmpty == false }
}

extension Storage {
    /// A program as a connection has introduced it: `name` is what it calls itself, `accounts` are the quotas that bind it.
    public func program(_ name: [UInt8], user: UInt32, accounts: [QuotaAccount]) -> Author.Program {
        Author.Program(name: name, number: ledger.bill.number(of: name, user: user), accounts: accounts)
    }
}
