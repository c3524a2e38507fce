/// Why secrets were not read or changed.
public enum SecretsError: Error, Equatable, Sendable {
    case engine(EngineError)
    /// There is no such secret, or service; `shownRev` is the revision of its tombstone, which the answer gives away.
    case absent(shownRev: UInt64)
    /// The secrets are sealed: no key is at hand.
    case sealed
    /// What is there is being checked: ask again in the next turn.
    case preparing
    /// What is on the disk is not what was written there.
    case integrity
    /// keys/host.key is not the one that this is sealed with besides: nothing is damaged.
    case otherHostKey
    /// There is no such version of the secret; `shownRev` is the item's revision, which the answer gives away.
    case noSuchVersion(shownRev: UInt64)
    /// Nothing can be sealed to that public key, or what is sealed was not sealed to ours.
    case unusableKey
    /// The secret is no key, or none for this.
    case wrongKind
    /// What a key was to open was not sealed with it, for this, or has changed.
    case forged
    /// A token leads to nothing.
    case unusableToken(UnusableToken)
}
