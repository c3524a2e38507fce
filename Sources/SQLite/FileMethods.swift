import CSQLite
import KuraBytes

// Safety: this is a table of C functions. SQLite calls them between a successful `xOpen` and `xClose` only, with the
// file that `xOpen` has filled in and buffers of the lengths that it says.

/// The table of C functions that SQLite calls for a file of the counting VFS.
///
/// Version 2: shared memory goes to the real file, memory mapping is not offered, so that every read is seen.
enum FileMethods {
    // Written once, before the first file is open, and only read from then on.
    nonisolated(unsafe) static let table: UnsafePointer<sqlite3_io_methods> = {
        var table = sqlite3_io_methods()
        table.iVersion = 2
        unsafe table.xClose = { file in
            let result = unsafe counted(file).close()
            unsafe Unmanaged<CountedFile>.fromOpaque(FileMethods.header(file).pointee.state).release()
            unsafe FileMethods.header(file).pointee.state = nil
            return result
        }
        unsafe table.xRead = { file, bytes, count, offset in
            unsafe counted(file).read(UnsafeMutableRawBufferPointer(start: bytes, count: Int(count)), at: offset)
        }
        unsafe table.xWrite = { file, bytes, count, offset in
            unsafe counted(file).write(Bytes(start: bytes, count: Int(count)), at: offset)
        }
        unsafe table.xTruncate = { file, size in unsafe counted(file).truncate(to: size) }
        unsafe table.xSync = { file, flags in unsafe counted(file).sync(flags) }
        unsafe table.xFileSize = { file, size in unsafe counted(file).size(size) }
        unsafe table.xLock = { file, level in unsafe counted(file).noting(real(file).methods.xLock(real(file), level)) }
        unsafe table.xUnlock = { file, level in
            unsafe counted(file).noting(real(file).methods.xUnlock(real(file), level))
        }
        unsafe table.xCheckReservedLock = { file, result in
            unsafe counted(file).noting(real(file).methods.xCheckReservedLock(real(file), result))
        }
        // SQLITE_NOTFOUND is an answer of these, not a failure with an errno.
        unsafe table.xFileControl = { file, operation, argument in
            unsafe real(file).methods.xFileControl(real(file), operation, argument)
        }
        unsafe table.xSectorSize = { file in unsafe real(file).methods.xSectorSize(real(file)) }
        unsafe table.xDeviceCharacteristics = { file in unsafe real(file).methods.xDeviceCharacteristics(real(file)) }
        unsafe table.xShmMap = { file, region, size, extend, address in
            unsafe counted(file).mapIndex(region, size, extend, address)
        }
        unsafe table.xShmLock = { file, offset, count, flags in
            unsafe counted(file).noting(real(file).methods.xShmLock(real(file), offset, count, flags))
        }
        unsafe table.xShmBarrier = { file in unsafe real(file).methods.xShmBarrier(real(file)) }
        unsafe table.xShmUnmap = { file, deletes in
            unsafe counted(file).noting(real(file).methods.xShmUnmap(real(file), deletes))
        }
        let pointer = UnsafeMutablePointer<sqlite3_io_methods>.allocate(capacity: 1)
        unsafe pointer.initialize(to: table)
        return unsafe UnsafePointer(pointer)
    }()

    /// The header in front of the real file, within the memory that SQLite allocated.
    static func header(_ file: UnsafeMutablePointer<sqlite3_file>?) -> UnsafeMutablePointer<kura_sqlite3_file> {
        // `base` is the first member of the C struct, so both have one address.
        unsafe UnsafeMutableRawPointer(file!).assumingMemoryBound(to: kura_sqlite3_file.self)
    }
}

// C function pointers cannot be made of closures that use a type's own functions, so these are of the file.

private func real(_ file: UnsafeMutablePointer<sqlite3_file>?) -> UnsafeMutablePointer<sqlite3_file> {
    unsafe FileMethods.header(file).pointee.real
}

private func counted(_ file: UnsafeMutablePointer<sqlite3_file>?) -> CountedFile {
    // Retained in xOpen, released in xClose.
    unsafe Unmanaged<CountedFile>.fromOpaque(FileMethods.header(file).pointee.state).takeUnretainedValue()
}

extension UnsafeMutablePointer<sqlite3_file> {
    fileprivate var methods: sqlite3_io_methods { unsafe pointee.pMethods.pointee }
}
