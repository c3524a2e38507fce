import KuraBytes

/// The file of a backup, layout 1. All numbers are little endian; digests are BLAKE2b-256.
///
///     header
///       0  8    "KURABKUP"
///       8  u16  1, the layout
///      10  u8   suite: 1 not encrypted, 2 encrypted (XChaCha20-Poly1305 stream, X25519 sealed boxes, Argon2id13)
///      11  u8   number of locks; 0 with suite 1
///      12  u32  bytes of the header in all
///      16       the locks, one behind the other: each has the file's key in it
///                 u8 1, public key (32), sealed box of the file's key (80)
///                 u8 2, u32 passes, u64 bytes of memory, salt (16), the file's key sealed under the passphrase's (72)
///               with suite 2: the stream's header (24)
///               digest of everything before it (32)
///     frames, each behind its length (u32)
///       suite 1  u8 tag (0; 3 the last one), payload, digest (32) of: the digest before it (the header's for the first one), tag, payload
///       suite 2  a message of the stream, with the header's digest as associated data; the last one has the stream's final tag
///
/// The chain of digests makes the last one that of the whole. Nothing follows the last frame. A payload begins with its kind:
///
///     1  beginning: epoch and time, as JSON
///     2  records (`BackupRecord`), one behind the other: those of the walk in the order of store, scope and key or row,
///        then what was changed meanwhile, in the order of folding; of an item the one with the greatest revision counts
///     3  a piece of an attachment's content: digest (32), u64 bytes in all, u64 offset, the piece
///     4  what leads to the secrets' keys: u32 length and text of slots.json; with suite 2 the root key sealed under a key that follows
///        from the file's (72)
///     5  manifest, as JSON: the last frame, and only there
///     6  entries of the model cache (`BundleModel`), each namespace before its entries; in seed bundles only
///
/// They come in this order: 1, 2, 3, 6, 4, 5; 1 and 5 are always there, and pieces of a content behind one another. What records may say is `RecordGuard`'s.
///
/// A seed bundle is such a file with another beginning, "KURABNDL"; it is never encrypted and has no secrets.
enum BackupFormat {
    /// What such a file is meant for.
    enum Kind: CaseIterable {
        case backup, bundle

        var magic: StaticString {
            switch self {
            case .backup: "KURABKUP"
            case .bundle: "KURABNDL"
            }
        }
    }

    static let version: UInt16 = 1
    static let fixedBytes = 16
    static let digestBytes = 32

    enum Suite: UInt8 {
        case plain = 1
        case encrypted = 2
    }

    enum LockKind: UInt8 {
        case recipient = 1
        case passphrase = 2
    }

    enum Payload: UInt8 {
        case beginning = 1
        case records = 2
        case content = 3
        case keys = 4
        case manifest = 5
        case models = 6

        /// Where they stand in a file.
        var place: Int {
            switch self {
            case .beginning: 0
            case .records: 1
            case .content: 2
            case .models: 3
            case .keys: 4
            case .manifest: 5
            }
        }
        /// There is one at most.
        var isSingle: Bool { self == .beginning || self == .keys || self == .manifest }
    }

    static let messageTag: UInt8 = 0
    static let finalTag: UInt8 = 3

    /// Records are gathered up to so many bytes; one that is longer is a frame by itself.
    static let chunkBytes = 256 << 10
    /// More than the longest record, and what is added to it.
    static let mostFrameBytes = 12 << 20
    static let mostHeaderBytes = 64 << 10
    static let mostLocks = 64
}
