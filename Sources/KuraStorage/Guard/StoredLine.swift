import KuraBytes
import SQLite

/// The last look at what replies are made of: whatever has come into the tables, no byte of it ends a line.
///
/// Nothing that passes the guard has a line's end in it. What is found here was written by a release before the guard, or by somebody
/// with write access to the data directory.
extension Bytes {
    /// Whether it would end the line that it is sent in.
    var breaksLines: Bool { contains(0x0A) || contains(0x0D) }
}

extension Statement {
    /// A body of the tables that replies may show.
    /// - Throws: damage, when it is not one line.
    borrowing func line(_ column: Int32) throws(SQLiteError) -> Bytes {
        let text = bytes(column)
        guard !text.breaksLines else { throw .damaged("a value is not one line") }
        return text
    }
}
