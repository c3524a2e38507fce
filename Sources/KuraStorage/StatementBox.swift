import SQLite

/// Keeps a statement (which is not copyable) inside a class.
final class StatementBox {
    let statement: Statement

    init(_ statement: consuming Statement) {
        self.statement = statement
    }
}
