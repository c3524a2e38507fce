/// Why a patch cannot be applied. Nothing was changed.
public struct PatchFault: Error, Equatable, Sendable {
    public enum Reason: Sendable {
        // What is wrong with the patch, whatever it is applied to.
        case noArray, noOperation, unknownOperation, missingPath, missingFrom, missingValue, badPointer, badFrom
        case tooManyOperations
        // What the document says to it.
        case nothingThere, noContainer, badPosition, wholeDocument, intoItself, testFailed
        case tooDeep, tooLarge, tooMuchWork
        // What an increment met.
        case noNumber, outOfRange
    }
    public var reason: Reason
    /// Position of the operation that is at fault; nil when there are none.
    public var operation: Int?
    /// The place in the document that it is about, as a JSON pointer; nil when the patch names none.
    public var pointer: [UInt8]?

    public init(_ reason: Reason, operation: Int? = nil, pointer: [UInt8]? = nil) {
        self.reason = reason
        self.operation = operation
        self.pointer = pointer
    }

    /// The patch itself is wrong: it could not be applied to any document.
    public var isMalformed: Bool {
        switch reason {
        case .noArray, .noOperation, .unknownOperation, .missingPath, .missingFrom, .missingValue, .badPointer,
            .badFrom, .tooManyOperations:
            true
        case .nothingThere, .noContainer, .badPosition, .wholeDocument, .intoItself, .testFailed, .tooDeep, .tooLarge,
            .tooMuchWork, .noNumber, .outOfRange:
            false
        }
    }

    /// Where the patch itself is wrong: a JSON pointer into it; nil when it is not.
    public var place: [UInt8]? {
        guard isMalformed else { return nil }
        var place = operation.map { "/\($0)" } ?? ""
        switch reason {
        case .unknownOperation: place += "/op"
        case .missingPath, .badPointer: place += "/path"
        case .missingFrom, .badFrom: place += "/from"
        case .missingValue: place += "/value"
        default: break
        }
        return Array(place.utf8)
    }

    /// The reason as a sentence without its point.
    public var message: StaticString {
        switch reason {
        case .noArray: "a JSON patch is an array of operations"
        case .noOperation: "an operation is an object with op and path"
        case .unknownOperation: "op is add, remove, replace, move, copy or test"
        case .missingPath: "path is a string"
        case .missingFrom: "from is a string"
        case .missingValue: "value is missing"
        case .badPointer, .badFrom: "a JSON pointer is empty or begins with a slash; ~ stands before 0 or 1"
        case .tooManyOperations: "too many operations"
        case .nothingThere: "nothing is there"
        case .noContainer: "what it would be in is no object and no array"
        case .badPosition: "no position in the array"
        case .wholeDocument: "the whole document cannot be removed or moved"
        case .intoItself: "a value cannot be moved into itself"
        case .testFailed: "the test found another value"
        case .tooDeep: "the result would be nested too deeply"
        case .tooLarge: "the result would be too large"
        case .tooMuchWork: "the patch takes too much work"
        case .noNumber: "what is there is no number"
        case .outOfRange: "the sum has more digits than every reader of JSON keeps"
        }
    }
}

/// How far a patch may go.
public struct PatchLimits: Sendable {
    /// Bytes of the result, and of everything on the way to it.
    public var resultBytes: Int
    /// Levels of arrays and objects in the result.
    public var depth = 126
    public var operations = 1000
    /// Bytes that are looked at and moved, all operations together.
    public var work = 64 << 20

    public init(resultBytes: Int) {
        self.resultBytes = resultBytes
    }
}
