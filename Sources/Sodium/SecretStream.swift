import CSodium
public import KuraBytes

/// Sealing a stream of messages in their order: none can be left out, moved or altered unnoticed, and the last one says that it is the
/// last. One instance seals one stream, on one thread at a time.
///
/// A stream begins with `headerBytes` that anybody may see; each message is `tag (1) ‖ ciphertext ‖ authenticator (16)`.
///
/// Source: libsodium, "Encrypting a stream" (`crypto_secretstream_xchacha20poly1305`).
///
/// Safety: the state is memory of our own, of libsodium's size and alignment, from `init` to `deinit`; addresses go with the counts of
/// the same bytes, and output goes to room that was made for exactly that much.
@safe
public final class SealingStream {
    /// Bytes of a stream's header.
    public static let headerBytes = 24
    /// Bytes that sealing adds to a message.
    public static let overhead = 17

    private let state: UnsafeMutableRawPointer

    /// Begins a stream, and appends its header to `output`.
    public init(key: SecretKey, header output: inout ByteBuffer) {
        Library.start()
        unsafe state = SecretStreamState.allocate()
        let (room, state) = unsafe (output.room(for: Self.headerBytes), SecretStreamState.pointer(self.state))
        unsafe key.withAddress { key in
            _ = unsafe crypto_secretstream_xchacha20poly1305_init_push(state, room, key)
        }
        output.commit(Self.headerBytes)
    }

    deinit { unsafe SecretStreamState.release(state) }

    /// Appends a message, sealed, to `output`: `plaintext.count + overhead` more bytes.
    ///
    /// `isFinal`: no message follows.
    /// `associated`: what opening must name as well.
    public func seal(
        _ plaintext: Bytes, isFinal: Bool = false, associated: Bytes = Bytes(), to output: inout ByteBuffer
    ) {
        let room = unsafe output.room(for: plaintext.count + Self.overhead)
        // Fails only for messages of 2^38 bytes.
        _ = unsafe crypto_secretstream_xchacha20poly1305_push(
            SecretStreamState.pointer(state), room, nil, plaintext.octets, UInt64(plaintext.count), associated.octets,
            UInt64(associated.count), isFinal ? SecretStreamState.finalTag : 0)
        output.commit(plaintext.count + Self.overhead)
    }
}

/// Opening what a `SealingStream` has sealed, message by message.
///
/// Safety: as there.
@safe
public final class OpeningStream {
    private let state: UnsafeMutableRawPointer
    /// The message that says so has been opened: none may follow.
    public private(set) var isAtEnd = false

    /// - Throws: `malformed` when `header` is none; a wrong key shows at the first message.
    public init(key: SecretKey, header: Bytes) throws(SodiumError) {
        Library.start()
        unsafe state = SecretStreamState.allocate()
        guard header.count == SealingStream.headerBytes else { throw .malformed }
        let state = unsafe SecretStreamState.pointer(self.state)
        let result = unsafe key.withAddress { key in
            unsafe crypto_secretstream_xchacha20poly1305_init_pull(state, header.octets, key)
        }
        guard result == 0 else { throw .malformed }
    }

    deinit { unsafe SecretStreamState.release(state) }

    /// Appends what is inside of the next message to `output`; when it throws, nothing.
    ///
    /// - Throws: `malformed` when it is too short, or comes behind the last one; `forged` when it, its place, the key or the associated
    ///   data is another.
    public func open(_ sealed: Bytes, associated: Bytes = Bytes(), into output: inout ByteBuffer) throws(SodiumError) {
        guard sealed.count >= SealingStream.overhead, !isAtEnd else { throw .malformed }
        let room = unsafe output.room(for: max(sealed.count - SealingStream.overhead, 1))
        var tag: UInt8 = 0
        let result = unsafe crypto_secretstream_xchacha20poly1305_pull(
            SecretStreamState.pointer(state), room, nil, &tag, sealed.octets, UInt64(sealed.count), associated.octets,
            UInt64(associated.count))
        guard result == 0 else { throw .forged }
        output.commit(sealed.count - SealingStream.overhead)
        isAtEnd = tag == SecretStreamState.finalTag
    }
}

/// Safety: a block of libsodium's size, aligned as its own struct is and more, from `allocate` to `release`, which zeroes it.
private enum SecretStreamState {
    /// `crypto_secretstream_xchacha20poly1305_TAG_FINAL`.
    static let finalTag: UInt8 = 3

    static func allocate() -> UnsafeMutableRawPointer {
        .allocate(byteCount: crypto_secretstream_xchacha20poly1305_statebytes(), alignment: 64)
    }

    static func pointer(
        _ state: UnsafeMutableRawPointer
    ) -> UnsafeMutablePointer<crypto_secretstream_xchacha20poly1305_state> {
        unsafe state.assumingMemoryBound(to: crypto_secretstream_xchacha20poly1305_state.self)
    }

    static func release(_ state: UnsafeMutableRawPointer) {
        unsafe sodium_memzero(state, crypto_secretstream_xchacha20poly1305_statebytes())
        unsafe state.deallocate()
    }
}
