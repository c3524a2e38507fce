/// What the overrides of all connections may take together. Belongs to the loop.
final class OverrideBudget {
    /// Bytes of keys and values.
    private(set) var bytes = 0
    private let buffers: BufferBudget

    static let limit = 64 << 20

    init(_ buffers: BufferBudget) { self.buffers = buffers }

    /// Whether a connection's overrides may grow by so many bytes. They may always shrink.
    func admits(_ growth: Int) -> Bool { bytes + growth <= Self.limit && (growth <= 0 || !buffers.isTight) }

    /// A connection's bytes have changed by `difference`.
    func charge(_ difference: Int) { bytes += difference }
}
