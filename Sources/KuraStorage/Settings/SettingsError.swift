/// Why a setting could not be added to.
public enum SettingsError: Error, Equatable, Sendable {
    case engine(EngineError)
    /// The stored value is no integer.
    case typeMismatch
    /// The sum is no safe integer.
    case outOfRange
}
