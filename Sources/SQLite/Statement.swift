import CSQLite
public import KuraBytes

/// A prepared statement, finalized when it goes out of scope.
///
/// It belongs to the thread that its connection belongs to. Parameters count from 1, columns from 0. Binding, stepping
/// and reading columns allocate nothing here, except where `text` says so. Parameters stay bound over `reset`.
/// Source: https://sqlite.org/c3ref/stmt.html
///
/// Safety: the handle is SQLite's, valid from `init` to `deinit`. Blobs and texts are bound with their lengths, and
/// the caller keeps them as long as they are bound; a column's bytes are good until the next step.
@safe
public struct Statement: ~Copyable {
    private let handle: OpaquePointer

    /// Takes over `handle`.
    init(owning handle: OpaquePointer) {
        unsafe self.handle = unsafe handle
    }

    deinit {
        unsafe sqlite3_finalize(handle)
    }

    // MARK: Binding

    public func bind(_ index: Int32, _ value: Int64) throws(SQLiteError) {
        try unsafe check(sqlite3_bind_int64(handle, index, value))
    }

    public func bind(_ index: Int32, double value: Double) throws(SQLiteError) {
        try unsafe check(sqlite3_bind_double(handle, index, value))
    }

    /// Binds `bytes` as a BLOB without copying: the caller keeps them alive and unchanged until `reset` or `run`
    /// returns.
    ///
    /// An empty buffer is an empty blob, not NULL.
    public func bind(_ index: Int32, bytes: Bytes) throws(SQLiteError) {
        // A null address would bind NULL.
        let address = unsafe bytes.baseAddress ?? UnsafeRawPointer(empty.utf8Start)
        try unsafe check(sqlite3_bind_blob64(handle, index, address, UInt64(bytes.count), nil))
    }

    /// Binds `utf8` as TEXT without copying: the caller keeps it alive and unchanged until `reset` or `run` returns.
    ///
    /// An empty buffer is an empty string, not NULL. That the bytes are valid UTF-8 is not checked.
    public func bind(_ index: Int32, utf8: Bytes) throws(SQLiteError) {
        let address = unsafe utf8.baseAddress ?? UnsafeRawPointer(empty.utf8Start)
        let text = unsafe address.assumingMemoryBound(to: CChar.self)
        try unsafe check(sqlite3_bind_text64(handle, index, text, UInt64(utf8.count), nil, UInt8(SQLITE_UTF8)))
    }

    /// Binds a copy of `text` as TEXT; SQLite allocates for it.
    public func bind(_ index: Int32, text: String) throws(SQLiteError) {
        try bind(index, copyingUTF8: Array(text.utf8))
    }

    /// Binds a copy of `utf8` as TEXT; SQLite allocates for it. That the bytes are valid UTF-8 is not checked.
    public func bind(_ index: Int32, copyingUTF8 utf8: [UInt8]) throws(SQLiteError) {
        let result = utf8.withBytes { utf8 in
            let address = unsafe utf8.baseAddress ?? UnsafeRawPointer(empty.utf8Start)
            return unsafe kura_sqlite3_bind_text_transient(
                handle, index, address.assumingMemoryBound(to: CChar.self), UInt64(utf8.count))
        }
        try check(result)
    }

    /// Binds a copy of `bytes` as a BLOB; SQLite allocates for it.
    public func bind(_ index: Int32, copying bytes: [UInt8]) throws(SQLiteError) {
        let result = bytes.withBytes { bytes in
            let address = unsafe bytes.baseAddress ?? UnsafeRawPointer(empty.utf8Start)
            return unsafe kura_sqlite3_bind_blob_transient(handle, index, address, UInt64(bytes.count))
        }
        try check(result)
    }

    public func bindNull(_ index: Int32) throws(SQLiteError) {
        try unsafe check(sqlite3_bind_null(handle, index))
    }

    // MARK: Running

    /// Goes on to the next row.
    ///
    /// - Returns: true when a row is there, false when the statement is done.
    public func step() throws(SQLiteError) -> Bool {
        let result = unsafe sqlite3_step(handle)
        if result == SQLITE_ROW { return true }
        if result == SQLITE_DONE { return false }
        throw unsafe SQLiteError(result, database: sqlite3_db_handle(handle), phase: .execution)
    }

    /// Ends the execution, so that the statement holds no snapshot and can run again.
    public func reset() {
        // It repeats the error of the last step, which was thrown there.
        unsafe sqlite3_reset(handle)
    }

    /// Runs the statement to its end and resets it, also when it fails. Rows are passed over.
    public func run() throws(SQLiteError) {
        defer { reset() }
        while try step() {}
    }

    // MARK: Reading the row

    public func int64(_ column: Int32) -> Int64 {
        unsafe sqlite3_column_int64(handle, column)
    }

    public func double(_ column: Int32) -> Double {
        unsafe sqlite3_column_double(handle, column)
    }

    /// The bytes of a BLOB or TEXT column, valid until the next `step` or `reset`; none for NULL.
    public func bytes(_ column: Int32) -> Bytes {
        // In this order: the first call may convert, the second counts what it converted to.
        let address = unsafe sqlite3_column_blob(handle, column)
        let count = unsafe Int(sqlite3_column_bytes(handle, column))
        return unsafe Bytes(start: address, count: address == nil ? 0 : count)
    }

    /// The column's value with its type, copied.
    public func cell(_ column: Int32) -> Cell {
        switch unsafe sqlite3_column_type(handle, column) {
        case SQLITE_INTEGER: .integer(int64(column))
        case SQLITE_FLOAT: .double(double(column))
        case SQLITE_TEXT: .text(Array(bytes(column)))
        case SQLITE_BLOB: .blob(Array(bytes(column)))
        default: .null
        }
    }

    /// A value with its type, to be bound to where a walk goes on.
    public enum Cell: Sendable {
        case null
        case integer(Int64)
        case double(Double)
        case text([UInt8])
        case blob([UInt8])
    }

    /// Binds a copy of the value.
    public func bind(_ index: Int32, _ cell: Cell) throws(SQLiteError) {
        switch cell {
        case .null: try bindNull(index)
        case .integer(let value): try bind(index, value)
        case .double(let value): try bind(index, double: value)
        case .text(let bytes): try bind(index, copyingUTF8: bytes)
        case .blob(let bytes): try bind(index, copying: bytes)
        }
    }

    public func isNull(_ column: Int32) -> Bool {
        unsafe sqlite3_column_type(handle, column) == SQLITE_NULL
    }

    /// A copy of a TEXT column; empty for NULL.
    public func text(_ column: Int32) -> String {
        String(decoding: bytes(column), as: UTF8.self)
    }

    private func check(_ result: Int32) throws(SQLiteError) {
        if result != SQLITE_OK {
            throw unsafe SQLiteError(result, database: sqlite3_db_handle(handle), phase: .execution)
        }
    }
}

/// Somewhere to point at when there are no bytes.
private let empty: StaticString = ""
