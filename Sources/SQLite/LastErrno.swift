import Glibc

/// The last failed VFS call of this thread: what it answered, and its `errno`.
///
/// sqlite3_system_errno would not do: where COMMIT fails in an autocommit statement SQLite does not ask the VFS, and
/// the `errno` of an earlier error stays. Nor would `errno` itself, which SQLite's cleaning up may change.
///
/// Safety: the pointer that the thread keeps is a number: nobody follows it.
enum LastErrno {
    // A pair in the size of a pointer, so that nothing is allocated.
    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        let result = unsafe pthread_key_create(&key, nil)
        precondition(result == 0, "no thread-specific key: \(result)")
        return key
    }()

    static func note(_ result: Int32, errno: Int32) {
        unsafe pthread_setspecific(key, UnsafeRawPointer(bitPattern: Int(result) << 32 | Int(errno)))
    }

    /// `errno` of the last failed call.
    static var value: Int32 { unsafe Int32(truncatingIfNeeded: Int(bitPattern: pthread_getspecific(key))) }

    /// `errno` of the last failed call when that answered `result`, else 0; nothing is left for a later error.
    static func take(of result: Int32) -> Int32 {
        let noted = unsafe Int(bitPattern: pthread_getspecific(key))
        pthread_setspecific(key, nil)
        return Int32(truncatingIfNeeded: noted >> 32) == result ? Int32(truncatingIfNeeded: noted) : 0
    }
}
