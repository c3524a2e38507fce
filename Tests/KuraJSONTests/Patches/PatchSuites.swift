import KuraBytes
import KuraProtocol
import KuraTestSupport

@testable import KuraJSON

/// Public suites of patches.
enum PatchSuites {
    static func has(_ file: String) -> Bool { Suites.has(file) }

    /// Calls `body` with each case of a file: an array of objects.
    /// - Returns: how many there are.
    static func forEachCase(of file: String, _ body: (StoredValue) -> Void) -> Int {
        guard let bytes = Suites.contents(of: file) else { return 0 }
        return compact(bytes).withBytes { text in
            StoredValue(text).elements.reduce(0) { count, element in
                body(element)
                return count + 1
            }
        }
    }

    static func compact(_ text: [UInt8]) -> [UInt8] {
        text.withBytes { text in
            var output = ByteBuffer()
            JSONText.compact(text, into: &output)
            return Array(output.bytes)
        }
    }
}

extension StoredValue {
    /// The value of a member of a case.
    subscript(name: String) -> StoredValue? {
        members.first { String(decoding: ResolvedText.bytes($0.name), as: UTF8.self) == name }?.value
    }

    var description: String { String(decoding: text, as: UTF8.self) }
}

/// Results and faults as text.
enum Patched {
    static func json(_ document: StoredValue, _ patch: StoredValue, _ limits: PatchLimits = .test) throws(PatchFault)
        -> String
    {
        var patcher = JSONPatch()
        var output = ByteBuffer()
        try patcher.apply(patch, to: document, into: &output, limits)
        return String(decoding: output.bytes, as: UTF8.self)
    }

    static func json(_ document: String, _ patch: String, _ limits: PatchLimits = .test) throws(PatchFault) -> String {
        try document.withBytes { (document) throws(PatchFault) in
            try patch.withBytes { (patch) throws(PatchFault) in
                try json(StoredValue(document), StoredValue(patch), limits)
            }
        }
    }

    static func merge(_ document: String?, _ patch: String, _ limits: PatchLimits = .test) throws(PatchFault) -> String
    {
        var output = ByteBuffer()
        try patch.withBytes { (patch) throws(PatchFault) in
            guard let document else {
                return try MergePatch.apply(StoredValue(patch), to: nil, into: &output, limits)
            }
            try document.withBytes { (document) throws(PatchFault) in
                try MergePatch.apply(StoredValue(patch), to: StoredValue(document), into: &output, limits)
            }
        }
        return String(decoding: output.bytes, as: UTF8.self)
    }

    /// The document and the sum.
    static func increment(_ document: String, _ path: String, by step: String, _ limits: PatchLimits = .test)
        throws(PatchFault) -> [String]
    {
        let place = try! path.withBytes { (path) throws(FieldPathError) in try FieldPath(path) }
        var increment = Increment()
        var output = ByteBuffer()
        var sum = ""
        try document.withBytes { (document) throws(PatchFault) in
            try step.withBytes { (step) throws(PatchFault) in
                let text = try increment.apply(step, at: place, in: StoredValue(document), into: &output, limits)
                sum = String(decoding: text, as: UTF8.self)
            }
        }
        return [String(decoding: output.bytes, as: UTF8.self), sum]
    }

    static func fault(_ body: () throws(PatchFault) -> some Any) -> PatchFault? {
        do throws(PatchFault) { _ = try body() } catch { return error }
        return nil
    }
}

extension PatchLimits {
    static let test = PatchLimits(resultBytes: 1 << 20)
}

extension PatchFault {
    /// Reason, operation and pointer in one text.
    var summary: String {
        "\(reason) \(operation.map(String.init) ?? "-") \(pointer.map { String(decoding: $0, as: UTF8.self) } ?? "-")"
    }
}
