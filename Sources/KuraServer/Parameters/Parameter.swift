import KuraBytes
import KuraProtocol
import KuraStorage

/// A parameter of a method: where in the request its value stands, and by its type what it is. All of them are in
/// Generated/Parameters.swift, by name.
protocol Parameter {
    var position: Int { get }
}

struct ParameterOf<Value>: Parameter {
    let position: Int
    init(_ position: Int) { self.position = position }
}

typealias TextParameter = ParameterOf<JSONKind.Text>
typealias NumberParameter = ParameterOf<JSONKind.Number>
typealias FlagParameter = ParameterOf<JSONKind.Flag>
/// Any value, a list or an object.
typealias JSONParameter = ParameterOf<JSONKind.Anything>

/// Reads a parameter by its name. The bytes are valid until the next request is read.
extension Call {
    /// Its bytes with escapes resolved; none when it is absent.
    subscript(parameter: TextParameter) -> Bytes { reader.string(parameter.position) }
    /// nil when it is absent.
    subscript(parameter: NumberParameter) -> Int64? { reader.integer(parameter.position) }
    /// false when it is absent.
    subscript(parameter: FlagParameter) -> Bool { reader.boolean(parameter.position) }
    /// Its text without white space between its tokens; none when it is absent.
    subscript(parameter: JSONParameter) -> Bytes { reader.json(parameter.position) }

    func has(_ parameter: some Parameter) -> Bool { reader.has(parameter.position) }

    /// The parameter's name, for errors.
    func name(_ parameter: some Parameter) -> Bytes { reader.name(parameter.position) }

    /// The condition that `ifRev` states.
    func condition(_ parameter: NumberParameter) -> Precondition { self[parameter].map { UInt64($0) } }
}
