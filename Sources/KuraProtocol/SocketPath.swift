#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// Where the daemon's socket is, so that client and daemon agree without being told.
public enum SocketPath {
    /// $KURA_SOCKET, else the usual place.
    public static func standard(_ environment: (String) -> String?) -> String {
        if let path = environment("KURA_SOCKET"), !path.isEmpty { return path }
        return usual(environment)
    }

    /// /run/kura/kura.sock for root, $XDG_RUNTIME_DIR/kura/kura.sock for others, and where there is no such directory
    /// /tmp/kura-UID/kura.sock. Anybody may make that one first, so clients look whose it is, and who listens.
    /// `user`: whose; nil: this process's.
    public static func usual(_ environment: (String) -> String?, for user: UInt32? = nil) -> String {
        let user = user ?? geteuid()
        if user == 0 { return "/run/kura/kura.sock" }
        if let runtime = environment("XDG_RUNTIME_DIR"), runtime.hasPrefix("/") { return runtime + "/kura/kura.sock" }
        return "/tmp/kura-\(user)/kura.sock"
    }

    /// The process's own environment.
    ///
    /// Safety: nobody changes it once the process runs, and the text ends with a zero.
    public static func environment(_ name: String) -> String? {
        unsafe getenv(name).map { unsafe String(cString: $0) }
    }
}
