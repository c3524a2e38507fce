public import KuraBytes

/// A secret as it is put. Bytes are the caller's, who zeroes them.
public struct NewSecret {
    public var kind: SecretKind
    /// Text, bytes, or an object of texts as JSON without white space.
    public var value: Bytes
    public var options: SecretOptions

    public init(_ kind: SecretKind, _ value: Bytes, _ options: SecretOptions) {
        self.kind = kind
        self.value = value
        self.options = options
    }
}

/// What is said of a secret beside its value; what is nil stays as it was.
public struct SecretOptions {
    public var label: Bytes?
    /// An object of texts as JSON; empty for none.
    public var attributes: Bytes?
    public var accessibility: SecretAccessibility?
    public var isDeviceOnly: Bool?
    public var isInBackups: Bool?
    /// Versions that are kept, from 1 to `SecretsStore.versionsLimit`; 0: as many as the service says.
    public var maxVersions: Int?
    /// When the version that is written expires, milliseconds since 1970; 0 for never. Does not stay.
    public var expiresAt: Int64?

    public init() {}
}

/// A version of a secret that was found.
public struct FoundSecret {
    /// Revision of the item's last change.
    public var rev: UInt64
    public var version: UInt32
    public var kind: SecretKind
    public var createdAt: Int64
    /// 0 for never.
    public var expiresAt: Int64
}

/// One of a secret's versions, as it is listed.
public struct SecretVersionSummary {
    public var version: UInt32
    public var rev: UInt64
    public var createdAt: Int64
    public var expiresAt: Int64
    public var size: Int
    public var kind: SecretKind
    public var isDestroyed: Bool
}

/// What is known of a secret but its values. Bytes are good for the call they are lent for.
public struct SecretSummary {
    public var name: SecretName
    public var label: Bytes
    /// An object of texts as JSON; empty for none.
    public var attributes: Bytes
    public var accessibility: SecretAccessibility
    public var isDeviceOnly: Bool
    public var isInBackups: Bool
    public var maxVersions: Int
    public var rev: UInt64
    public var version: UInt32
    public var kind: SecretKind
    public var createdAt: Int64
    public var updatedAt: Int64
    public var expiresAt: Int64
}

/// What a service is configured to be.
public struct ServiceSummary {
    public var name: Bytes
    public var count: Int
    public var maxVersions: Int
    /// Each read is in the audit before it is answered.
    public var auditsEachRead: Bool
    public var installation: Bytes
    /// What all that it has comes to, 32 bytes; another after each change.
    public var head: [UInt8]
    /// Number of its newest key, from 1.
    public var keyNumber: Int
    /// Older keys are there still: something may be sealed with them.
    public var isRewrapping: Bool
    /// Revision of its last change.
    public var rev: UInt64
}
