import CSQLite
public import KuraBytes

// Safety: the file is SQLite's, open as long as the connection is; buffers go with their lengths.

/// The database file as it lies on the disk, past the page cache and the WAL.
///
/// Through SQLite's own handle: closing a second descriptor of the file would give up the locks that the first one holds (fcntl(2)).
/// For the one connection that writes, while its WAL is empty: then the file is all there is.
extension Connection {
    /// Reads once, at most `count` bytes at `offset`, and appends them; what lies behind the end comes as zeros.
    public func readFile(_ count: Int, at offset: Int, into buffer: inout ByteBuffer) throws(SQLiteError) {
        buffer.reserve(count)
        let spare = unsafe buffer.spare
        try unsafe onFile { file in
            let result = unsafe file.pointee.pMethods.pointee.xRead(
                file, spare.baseAddress, Int32(count), Int64(offset))
            return result == ResultCode.ioErrorShortRead ? SQLITE_OK : result
        }
        buffer.commit(count)
    }

    /// Overwrites bytes of the file. Not synced.
    public func overwriteFile(_ bytes: Bytes, at offset: Int) throws(SQLiteError) {
        try unsafe onFile { file in
            unsafe file.pointee.pMethods.pointee.xWrite(file, bytes.baseAddress, Int32(bytes.count), Int64(offset))
        }
    }

    /// What was overwritten is on the disk when this returns.
    public func syncFile() throws(SQLiteError) {
        try unsafe onFile { file in unsafe file.pointee.pMethods.pointee.xSync(file, SQLITE_SYNC_NORMAL) }
    }

    private func onFile(_ body: (UnsafeMutablePointer<sqlite3_file>) -> Int32) throws(SQLiteError) {
        let database = try unsafe open()
        var file: UnsafeMutablePointer<sqlite3_file>?
        var result = unsafe sqlite3_file_control(database, nil, SQLITE_FCNTL_FILE_POINTER, &file)
        if result == SQLITE_OK, let file = unsafe file { result = unsafe body(file) }
        guard result == SQLITE_OK else {
            throw SQLiteError(
                extendedCode: result, systemErrno: LastErrno.take(of: result),
                message: "the database file cannot be read or overwritten")
        }
    }
}
