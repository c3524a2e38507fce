import KuraBytes
import KuraProtocol
import KuraStorage

/// A parameter of a method: where in the request its value stands. All of them are in Generated/Parameters.swift, by name.
protocol Parameter {
    var position: Int { get }
}

struct TextParameter: Parameter {
    let position: Int
    init(_ position: Int) { self.position = position }
}

struct IntegerParameter: Parameter {
    let position: Int
    init(_ position: Int) { self.position = position }
}

struct FlagParameter: Parameter {
    let position: Int
    init(_ position: Int) { self.position = position }
}

/// Any value, a list or an object.
struct JSONParameter: Parameter {
    let position: Int
    init(_ position: Int) { self.position = position }
}

/// Reads a parameter by its name. The bytes are valid until the next request is read.
extension RequestReader {
    /// Its bytes with escapes resolved; none when it is absent.
    subscript(parameter: TextParameter) -> Bytes { string(parameter.position) }
    /// nil when it is absent.
    subscript(parameter: IntegerParameter) -> Int64? { integer(parameter.position) }
    /// false when it is absent.
    subscript(parameter: FlagParameter) -> Bool { boolean(parameter.position) }
    /// Its text without white space between its tokens; none when it is absent.
    subscript(parameter: JSONParameter) -> Bytes { json(parameter.position) }

    func has(_ parameter: some Parameter) -> Bool { has(parameter.position) }

    /// The parameter's name, for errors.
    func name(_ parameter: some Parameter) -> Bytes { name(parameter.position) }
}

extension Call {
    subscript(parameter: TextParameter) -> Bytes { reader[parameter] }
    subscript(parameter: IntegerParameter) -> Int64? { reader[parameter] }
    subscript(parameter: FlagParameter) -> Bool { reader[parameter] }
    subscript(parameter: JSONParameter) -> Bytes { reader[parameter] }

    func has(_ parameter: some Parameter) -> Bool { reader.has(parameter.position) }

    func name(_ parameter: some Parameter) -> Bytes { reader.name(parameter.position) }

    /// The condition that `ifRev` states.
    func condition(_ parameter: IntegerParameter) -> Precondition { self[parameter].map { UInt64($0) } }
}
