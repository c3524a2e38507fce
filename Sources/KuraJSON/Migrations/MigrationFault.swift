/// Why a text is no list of migrations.
public struct MigrationError: Error, Equatable, Sendable {
    /// Where, as a JSON pointer into the list.
    public var pointer: String
    public var message: String

    init(_ pointer: String, _ message: String) {
        self.pointer = pointer
        self.message = message
    }
}

/// Why a step cannot be taken with a document.
public struct MigrationFault: Error, Equatable, Sendable {
    public enum Reason: Sendable {
        case targetExists, noContainer, badPosition, noName
        case notText, notInteger, notNumber, notBoolean, tooManyDigits
        case tooDeep, tooLarge, tooMuchWork
    }
    public var reason: Reason
    /// The version that the step leads to, and its position in that migration.
    public var version: Int
    public var step: Int
    /// The place in the document, as a JSON pointer.
    public var pointer: [UInt8]

    /// The reason as a sentence without its point.
    public var message: StaticString {
        switch reason {
        case .targetExists: "something is there already"
        case .noContainer: "what it would be in is no object"
        case .badPosition: "no position in the array"
        case .noName: "an element of an array has no name"
        case .notText: "an array or object cannot become a string"
        case .notInteger: "no whole number"
        case .notNumber: "no number"
        case .notBoolean: "neither true nor false, nor one of these as a string, nor 1 nor 0"
        case .tooManyDigits: "a whole number of too many digits"
        case .tooDeep: "the document would be nested too deeply"
        case .tooLarge: "the document would be too large"
        case .tooMuchWork: "the steps take too much work"
        }
    }
}

/// How far migrating a document may go.
public struct MigrationLimits: Sendable {
    /// Bytes of the result, and of everything on the way to it.
    public var resultBytes: Int
    /// Levels of arrays and objects in the result.
    public var depth = 126
    /// Bytes that are looked at and moved, all steps together.
    public var work: Int

    public init(resultBytes: Int, work: Int = 1 << 30) {
        self.resultBytes = resultBytes
        self.work = work
    }
}
