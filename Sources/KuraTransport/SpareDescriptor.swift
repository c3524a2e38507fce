import Glibc

/// A descriptor kept back for the client that comes when there is none left: it can still be taken in, told so, and let go.
public struct SpareDescriptor: ~Copyable {
    private var descriptor: Int32 = -1

    public init() {
        refill()
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    /// Gives the descriptor's place to whoever opens one next.
    /// - Returns: false when there was none to give.
    public mutating func lend() -> Bool {
        guard descriptor >= 0 else { return false }
        close(descriptor)
        descriptor = -1
        return true
    }

    /// Takes a place again, when there is one.
    public mutating func refill() {
        guard descriptor < 0 else { return }
        // Safety: Swift lends the path as a C string for the call.
        descriptor = unsafe open("/dev/null", O_RDONLY | O_CLOEXEC)
    }
}
