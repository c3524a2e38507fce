import CSodium
import Glibc
import KuraBytes

/// libsodium, ready for use.
enum Library {
    // Chooses the fastest implementations for this processor, once, whatever thread comes first.
    private static let isReady: Bool = sodium_init() >= 0

    static func start() {
        guard isReady else { fatalError("libsodium cannot be used here") }
    }
}

/// Safety: the address goes with the count of the same bytes; where there are none it is a literal's, which nothing is read from.
extension Bytes {
    /// Where C finds the bytes; never nil, since some functions want an address even for no bytes.
    var octets: UnsafePointer<UInt8> {
        let none: StaticString = ""
        return unsafe (baseAddress ?? UnsafeRawPointer(none.utf8Start)).assumingMemoryBound(to: UInt8.self)
    }
}

/// Safety: the address is that of the room behind the last byte, which `reserve` has made; who writes there keeps to its length.
extension ByteBuffer {
    /// Room for `count` bytes behind the last one, for C to fill; `commit` takes them as appended.
    mutating func room(for count: Int) -> UnsafeMutablePointer<UInt8> {
        // Even for no bytes there is to be an address.
        reserve(max(count, 1))
        return unsafe spare.baseAddress!.assumingMemoryBound(to: UInt8.self)
    }
}
