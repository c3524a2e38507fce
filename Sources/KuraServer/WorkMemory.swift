import KuraBytes
import KuraProtocol

/// Memory that requests use one after the other while they are answered. Secrets pass through it, and nothing of them stays: what may hold
/// one is zeroed here and nowhere else.
struct WorkMemory: ~Copyable {
    /// For walking over list and map parameters, one a level.
    let walk = WalkStorage()
    let innerWalk = WalkStorage()
    /// Bytes that a handler needs while it answers. No secret gets in here.
    var scratch = ByteBuffer()
    var otherScratch = ByteBuffer()
    /// A secret that is being read or rendered.
    var plaintext = ByteBuffer()
    /// The request, or an operation of it, has or had a secret in it: all is zeroed when the request is through.
    private(set) var holdsSecrets = false

    /// Bytes of the block for secrets that is kept.
    private static let keptBytes = 64 << 10

    init() { plaintext.wipes = true }

    mutating func meetsSecrets() { holdsSecrets = true }

    /// Zeroes what has been read or rendered.
    mutating func wipePlaintext() {
        if plaintext.capacity > Self.keptBytes { plaintext.releaseMemory() } else { plaintext.removeAll() }
    }

    /// Zeroes all that may hold a secret, the texts that parameters were resolved into too.
    mutating func wipe() {
        holdsSecrets = false
        wipePlaintext()
        walk.wipe()
        innerWalk.wipe()
    }
}
