import JSONSchema
import KuraBytes
import Testing

/// A schema with values that it lets pass and values that it does not.
struct Case: CustomTestStringConvertible, Sendable {
    let schema: String
    let valid: [String]
    let invalid: [String]

    init(_ schema: String, valid: [String] = [], invalid: [String] = []) {
        self.schema = schema
        self.valid = valid
        self.invalid = invalid
    }

    var testDescription: String { schema }

    func check(_ location: SourceLocation = #_sourceLocation) throws {
        let compiled = try JSONSchema.compile(schema)
        for value in valid {
            let violation = compiled.validate(value)
            #expect(violation == nil, "\(value) must be valid", sourceLocation: location)
        }
        for value in invalid {
            let violation = compiled.validate(value)
            #expect(violation?.cause == .value, "\(value) must be invalid", sourceLocation: location)
        }
    }
}

extension JSONSchema {
    static func compile(_ text: String, limits: SchemaLimits = SchemaLimits()) throws(SchemaError) -> JSONSchema {
        let bytes = Array(text.utf8)
        let result: Result<JSONSchema, SchemaError> = bytes.withBytes { bytes in
            do throws(SchemaError) { return .success(try compile(bytes, limits: limits)) } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    func validate(_ value: String) -> Violation? {
        Array(value.utf8).withBytes { validate($0) }
    }

    func violations(of value: String, upTo count: Int) -> [Violation] {
        Array(value.utf8).withBytes { violations(of: $0, upTo: count) }
    }
}
