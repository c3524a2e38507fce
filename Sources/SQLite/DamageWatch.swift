import CSQLite
import Glibc

/// Tells of every damaged or unreadable file that a connection of this process meets, whoever asked and whatever becomes of the error.
///
/// SQLite's own words are not passed on with it: `SQLiteError.message` is the code's.
public enum DamageWatch {
    /// Ends with its last reference.
    public final class Observer: Sendable {
        private let directory: String
        /// The same without links and from the root on, which is how SQLite names files.
        private let resolved: String
        fileprivate let body: @Sendable (_ path: String, SQLiteError) -> Void

        fileprivate init(_ directory: String, _ body: @escaping @Sendable (_ path: String, SQLiteError) -> Void) {
            (self.directory, self.body) = (directory + "/", body)
            // Safety: Swift lends the path as a C string for the call, which gives memory that is ours.
            guard let found = unsafe realpath(directory, nil) else {
                resolved = directory + "/"
                return
            }
            defer { unsafe free(found) }
            resolved = unsafe String(cString: found) + "/"
        }

        /// A file's path as the observer's directory is named; nil for a file elsewhere.
        fileprivate func named(_ path: String) -> String? {
            if path.hasPrefix(directory) { return path }
            return path.hasPrefix(resolved) ? directory + String(path.dropFirst(resolved.count)) : nil
        }
    }

    private struct Weak {
        weak var observer: Observer?
    }

    private static let observers = Guarded<[Weak]>([])

    /// Calls `body` for each file below `directory`, whose path begins as that does, on the thread that meets the damage, at each time: it must be quick, and ask no connection.
    public static func observe(
        _ directory: String, _ body: @escaping @Sendable (_ path: String, SQLiteError) -> Void
    ) -> Observer {
        let observer = Observer(directory, body)
        observers.withLock { list in
            list.removeAll { $0.observer == nil }
            list.append(Weak(observer: observer))
        }
        return observer
    }

    /// An error of a call on `database`.
    static func notice(_ error: SQLiteError, _ database: OpaquePointer?) {
        // Safety: the connection is the caller's, and open; SQLite keeps the name as long, and it is copied at once.
        guard error.isDamageOfFile, let database = unsafe database,
            let name = unsafe sqlite3_db_filename(database, "main")
        else { return }
        // Safety: as above.
        tell(error, unsafe String(cString: name))
    }

    /// An error of opening a file, which has no connection then.
    static func notice(_ error: SQLiteError, at path: String) {
        if error.isDamageOfFile { tell(error, path) }
    }

    /// Tells of a file or a directory that somebody has taken away.
    public static func notice(goneAt path: String) {
        tell(SQLiteError(extendedCode: SQLITE_CANTOPEN, systemErrno: ENOENT, message: "it is not there"), path)
    }

    /// Tells of damage that is met without a connection, in a file of another format.
    public static func notice(damageIn path: String, _ what: String) {
        tell(SQLiteError(extendedCode: SQLITE_CORRUPT, message: what), path)
    }

    private static func tell(_ error: SQLiteError, _ path: String) {
        for observer in observers.withLock({ $0.compactMap(\.observer) }) {
            if let named = observer.named(path) { observer.body(named, error) }
        }
    }
}

extension SQLiteError {
    /// The file is not what was written, is gone, or the disk does not give it: not a full disk, not a lack of memory or descriptors.
    public var isDamageOfFile: Bool {
        isCorrupt || isGone || (isIOError && !isFull && !isWant && !wouldBlock)
    }
}
