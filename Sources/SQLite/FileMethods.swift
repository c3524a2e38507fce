import CSQLite
import KuraBytes

/// The table of C functions that SQLite calls for a file of the counting VFS.
///
/// Version 2: shared memory goes to the real file, memory mapping is not offered, so that every read is seen.
enum FileMethods {
    // Written once, before the first file is open, and only read from then on.
    nonisolated(unsafe) static let table: UnsafePointer<sqlite3_io_methods> = {
        var table = sqlite3_io_methods()
        table.iVersion = 2
        table.xClose = { file in
            let result = counted(file).close()
            Unmanaged<CountedFile>.fromOpaque(FileMethods.header(file).pointee.state).release()
            FileMethods.header(file).pointee.state = nil
            return result
        }
        table.xRead = { file, bytes, count, offset in
            counted(file).read(UnsafeMutableRawBufferPointer(start: bytes, count: Int(count)), at: offset)
        }
        table.xWrite = { file, bytes, count, offset in
            counted(file).write(Bytes(start: bytes, count: Int(count)), at: offset)
        }
        table.xTruncate = { file, size in counted(file).truncate(to: size) }
        table.xSync = { file, flags in counted(file).sync(flags) }
        table.xFileSize = { file, size in counted(file).size(size) }
        table.xLock = { file, level in counted(file).noting(real(file).methods.xLock(real(file), level)) }
        table.xUnlock = { file, level in counted(file).noting(real(file).methods.xUnlock(real(file), level)) }
        table.xCheckReservedLock = { file, result in
            counted(file).noting(real(file).methods.xCheckReservedLock(real(file), result))
        }
        // SQLITE_NOTFOUND is an answer of these, not a failure with an errno.
        table.xFileControl = { file, operation, argument in
            real(file).methods.xFileControl(real(file), operation, argument)
        }
        table.xSectorSize = { file in real(file).methods.xSectorSize(real(file)) }
        table.xDeviceCharacteristics = { file in real(file).methods.xDeviceCharacteristics(real(file)) }
        table.xShmMap = { file, region, size, extend, address in
            counted(file).noting(real(file).methods.xShmMap(real(file), region, size, extend, address))
        }
        table.xShmLock = { file, offset, count, flags in
            counted(file).noting(real(file).methods.xShmLock(real(file), offset, count, flags))
        }
        table.xShmBarrier = { file in real(file).methods.xShmBarrier(real(file)) }
        table.xShmUnmap = { file, deletes in
            counted(file).noting(real(file).methods.xShmUnmap(real(file), deletes))
        }
        let pointer = UnsafeMutablePointer<sqlite3_io_methods>.allocate(capacity: 1)
        pointer.initialize(to: table)
        return UnsafePointer(pointer)
    }()

    /// The header in front of the real file, within the memory that SQLite allocated.
    static func header(_ file: UnsafeMutablePointer<sqlite3_file>?) -> UnsafeMutablePointer<kura_sqlite3_file> {
        // `base` is the first member of the C struct, so both have one address.
        UnsafeMutableRawPointer(file!).assumingMemoryBound(to: kura_sqlite3_file.self)
    }
}

// C function pointers cannot be made of closures that use a type's own functions, so these are of the file.

private func real(_ file: UnsafeMutablePointer<sqlite3_file>?) -> UnsafeMutablePointer<sqlite3_file> {
    FileMethods.header(file).pointee.real
}

private func counted(_ file: UnsafeMutablePointer<sqlite3_file>?) -> CountedFile {
    // Retained in xOpen, released in xClose.
    Unmanaged<CountedFile>.fromOpaque(FileMethods.header(file).pointee.state).takeUnretainedValue()
}

extension UnsafeMutablePointer<sqlite3_file> {
    fileprivate var methods: sqlite3_io_methods { pointee.pMethods.pointee }
}
