import CSQLite

/// Tells of every damaged or unreadable file that a connection of this process meets, whoever asked and whatever becomes of the error.
///
/// SQLite's own words are not passed on with it: `SQLiteError.message` is the code's.
public enum DamageWatch {
    /// Ends with its last reference.
    public final class Observer: Sendable {
        fileprivate let directory: String
        fileprivate let body: @Sendable (_ path: String, SQLiteError) -> Void

        fileprivate init(_ directory: String, _ body: @escaping @Sendable (_ path: String, SQLiteError) -> Void) {
            (self.directory, self.body) = (directory, body)
        }
    }

    private struct Weak {
        weak var observer: Observer?
    }

    private static let observers = Guarded<[Weak]>([])

    /// Calls `body` for each file below `directory`, on the thread that meets the damage, at each time: it must be quick, and ask no connection.
    public static func observe(
        _ directory: String, _ body: @escaping @Sendable (_ path: String, SQLiteError) -> Void
    ) -> Observer {
        let observer = Observer(directory + "/", body)
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

    /// Tells of damage that is met without a connection, in a file of another format.
    public static func notice(damageIn path: String, _ what: String) {
        tell(SQLiteError(extendedCode: SQLITE_CORRUPT, message: what), path)
    }

    private static func tell(_ error: SQLiteError, _ path: String) {
        let found = observers.withLock { $0.compactMap(\.observer).filter { path.hasPrefix($0.directory) } }
        for observer in found { observer.body(path, error) }
    }
}

extension SQLiteError {
    /// The file is not what was written, or the disk does not give it: not a full disk, not a lack of memory or descriptors.
    public var isDamageOfFile: Bool {
        isCorrupt || (isIOError && !isFull && !isWant && !wouldBlock)
    }
}
