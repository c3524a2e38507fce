/// What a recording of requests makes of the method table: which values of a request it replaces, and which values of a result a replay looks
/// for in later requests. Both follow from the declarations.
extension Method {
    /// The value of this parameter is replaced in a recording: it is a secret, or belongs to a store that is sealed on the disk, names included.
    public func isReplaced(_ parameter: Field) -> Bool {
        parameter.isSecret || store.isSealed || Self.sealedNames.contains(parameter.name)
    }

    /// Names of texts that methods of sealed stores take and no other store's methods do. A method without a store that takes one means the
    /// same, as `session.hello` does with `installation`.
    private static let sealedNames: Set<String> = {
        func names(_ stores: [Store]) -> Set<String> {
            Set(stores.flatMap(\.methods).flatMap(\.parameters).filter(\.type.isText).map(\.name))
        }
        return names(Store.all(.sealed)).subtracting(names(Store.all(.clear, .cached)))
    }()
}

extension Method.Store {
    /// It keeps what it has sealed, names included.
    public var isSealed: Bool { facts.keeping == .sealed }
}

extension ValueType {
    /// It is a text, or texts.
    public var isText: Bool {
        switch self {
        case .name, .text, .list(of: .name, _), .list(of: .text, _): true
        default: false
        }
    }

    /// A list of stores that can have a sealed one in it: then what stands beside it may be a name of that store's.
    public var mayNameSealedStore: Bool {
        guard case .list(of: .word(let words), _) = self else { return false }
        return words.contains { Method.Store(rawValue: $0)?.isSealed == true }
    }

}

extension [Field] {
    /// Together they are a call: a method's name with its parameters.
    public var areCalls: Bool { contains { $0.name == "method" } && contains { $0.name == "params" } }
}

extension Field {
    /// The daemon makes such values up and clients hand them back: as what a replay knows them. nil for any other.
    ///
    /// Revisions have many names and are one kind. `RecordedFieldsTests` holds these names against all results that parameters are called like.
    public var mintedKind: String? { Self.mintedKind(name, type) }

    public static func mintedKind(_ name: String, _ type: ValueType) -> String? {
        switch type {
        case .integer:
            if name == "rev" || name.hasSuffix("Rev") { return "rev" }
            return mintedNumbers.contains(name) ? name : nil
        case .name, .text: return mintedTexts.contains(name) ? "text" : nil
        case .list(let element, _):
            // `ids` are several `id`.
            return name.hasSuffix("s") ? mintedKind(String(name.dropLast()), element) : nil
        default: return nil
        }
    }

    public static let mintedNumbers: Set = ["subscription", "version"]
    public static let mintedTexts: Set = [
        "ciphertext", "code", "cursor", "dataBase64", "epoch", "id", "secret", "secretBase64", "secretSealed",
        "signature",
        "token", "upload",
    ]

    /// It, or something in it, is of a minted kind.
    public var hasMinted: Bool {
        if mintedKind != nil { return true }
        switch type {
        case .object(let fields), .list(of: .object(let fields), _): return fields.contains(where: \.hasMinted)
        // The results of a transaction's operations.
        case .list(of: .map(of: .json), _): return true
        default: return false
        }
    }

    /// Some parameter or result that is called so is a secret.
    public static let secretNames = Set(
        Method.all.flatMap { $0.parameters + $0.result }.filter(\.isSecret).map(\.name))
}

/// The file that `storage.record` writes: lines of JSON, of which the first one is the head.
public enum Recording {
    /// Its version: one more when a replay of before would misread it.
    public static let format = 1
}
