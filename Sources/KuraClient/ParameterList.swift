import KuraBytes
import KuraProtocol

/// A request's parameters as a command line gives them: `name=text` or `name:=json`, a value of `@file` is read from there.
public struct ParameterList: Sendable {
    /// An argument that is no parameter; the message says what is wrong with it.
    public struct Fault: Error, CustomStringConvertible, Sendable {
        public let description: String

        public init(_ description: String) {
            self.description = description
        }
    }

    public struct Parameter: Sendable {
        public let name: String
        /// Compact JSON text.
        public let value: [UInt8]
        /// It was given with `=`, so that it is a string whatever it looks like.
        public let isPlain: Bool
    }

    public private(set) var parameters: [Parameter] = []

    public init() {}

    /// Adds one argument.
    /// - Parameters:
    ///   - argument: as the shell handed it over.
    ///   - read: returns a file's bytes for `@file`; throws when it cannot.
    /// - Throws: when it is no `name=…`, comes twice, is no JSON or no UTF-8.
    public mutating func add(
        _ argument: String, read: (String) throws(Fault) -> [UInt8]
    ) throws(Fault) {
        guard let sign = argument.firstIndex(of: "=") else {
            throw Fault("'\(argument)' is no parameter: write name=text or name:=json")
        }
        let isPlain = !argument[..<sign].hasSuffix(":")
        let name = String(isPlain ? argument[..<sign] : argument[..<sign].dropLast())
        guard !name.isEmpty else { throw Fault("'\(argument)' lacks a name before the equals sign") }
        guard !parameters.contains(where: { $0.name == name }) else { throw Fault("\(name) is given twice") }
        let given = String(argument[argument.index(after: sign)...])
        let isFile = given.hasPrefix("@")
        let bytes = isFile ? try read(String(given.dropFirst())) : Array(given.utf8)
        let origin = isFile ? "the content of \(given.dropFirst())" : "its value"
        let value: [UInt8]
        if isPlain {
            guard let text = String(validating: bytes, as: UTF8.self) else {
                throw Fault("\(name): \(origin) is not UTF-8, which JSON strings are")
            }
            value = Self.quote(text)
        } else {
            do throws(JSONFault) {
                value = try JSONDocument.compact(bytes)
            } catch {
                let advice = isFile ? "" : "; for text write \(name)=…"
                throw Fault("\(name): \(origin) is not JSON: \(error.explanation)\(advice)")
            }
        }
        parameters.append(Parameter(name: name, value: value, isPlain: isPlain))
    }

    /// The object to send, compact JSON text; empty when there are no parameters.
    public var json: [UInt8] {
        if parameters.isEmpty { return [] }
        var output = ByteBuffer()
        for (index, parameter) in parameters.enumerated() {
            output.append(index == 0 ? "{" : ",")
            output.append(quoted: parameter.name)
            output.append(":")
            parameter.value.withBytes { output.append($0) }
        }
        output.append("}")
        return Array(output.bytes)
    }

    private static func quote(_ text: String) -> [UInt8] {
        var output = ByteBuffer()
        output.append(quoted: text)
        return Array(output.bytes)
    }
}
