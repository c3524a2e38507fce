/// Why a cryptographic operation gave nothing.
///
/// It never says which byte was wrong, and carries neither keys nor texts.
public enum SodiumError: Error, Equatable, Sendable {
    /// The bytes are not what the key sealed, or were not sealed for these associated data: damaged, swapped or made up.
    case forged
    /// The bytes are too short or too long to be what they should be.
    case malformed
    /// A public key is no point that anything may be sealed to.
    case unusableKey
    /// There is no memory for a key, or for the passphrase's hash.
    case outOfMemory
    /// The parameters of a passphrase's hash are outside of what is taken (`PasswordHash.Parameters`).
    case unacceptableParameters
}
