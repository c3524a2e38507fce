import KuraBytes
import KuraJSON
import SQLite

/// A table that the fold thread keeps beside the documents of a collection, made of what they have: an index, a full text index.
///
/// How far it is built stands in a catalogue, a row for each table, in the same transactions.
protocol DerivedTable: AnyObject {
    associatedtype Definition
    /// How it stands, for the loop.
    associatedtype Status: Sendable

    /// The catalogue's table.
    static var catalogue: StaticString { get }
    /// What writes a row of the catalogue; `bind` says what. The table's number is ?1.
    static var update: String { get }
    /// What the table is called.
    static func name(_ number: Int64) -> String
    /// Those that the catalogue has, in the order of their numbers.
    static func all(_ connection: Connection) throws(SQLiteError) -> [Self]
    /// Makes a table without rows, which is to be built. In a transaction.
    static func make(_ definition: Definition, _ collection: UInt32, _ connection: Connection) throws(SQLiteError)
        -> Self
    /// Whether a table of one definition is one of the other.
    static func isSame(_ left: Definition, _ right: Definition) -> Bool

    var number: Int64 { get }
    var collection: UInt32 { get }
    var definition: Definition { get }
    var status: Status { get }
    /// The catalogue has something else of it.
    var isChanged: Bool { get set }

    // MARK: In a fold

    /// Its definition is gone: it is emptied in pieces.
    var isDropping: Bool { get }
    func drop()
    /// What the document in this row has is in the table, and is kept up.
    func holds(_ row: Int64) -> Bool
    /// A document is about to take the place of another; nil where there is none.
    func note(_ row: Int64, _ old: StoredValue?, _ new: StoredValue?) throws(SQLiteError)
    /// The transaction's documents are through.
    func flush() throws(SQLiteError)
    func bind(to update: borrowing Statement) throws(SQLiteError)

    // MARK: Between folds

    /// There is something to do: at all, before others' builds are gone on with, to build.
    var hasWork: Bool { get }
    var isUrgent: Bool { get }
    var isBuilding: Bool { get }
    /// A bounded piece. In no transaction; `begin` is called before anything is written.
    /// - Returns: whether it is empty and can go.
    func work(
        _ documents: DocumentSource, until deadline: Deadline, _ begin: () throws(SQLiteError) -> Void
    ) throws(SQLiteError) -> Bool
}
