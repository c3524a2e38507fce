import KuraBytes

// What the test targets share is known in all files of this one.
@_exported public import KuraTestSupport

@testable import KuraStorage

extension TemporaryDirectory {
    convenience init() { self.init(prefix: "kura-storage") }
}

extension StorageConfiguration {
    /// Small enough that a test reaches every bound.
    static func tiny(_ directory: String) -> StorageConfiguration {
        var configuration = StorageConfiguration(dataDirectory: directory, profile: .small)
        configuration.caches.minFreeBytes = 0
        configuration.log.segmentBytes = 256 << 10
        configuration.log.retentionBytes = 0
        configuration.turnBytes = 64 << 20
        return configuration
    }
}

/// Lends a text's bytes.
func with<R, E: Error>(_ text: String, _ body: (Bytes) throws(E) -> R) throws(E) -> R {
    let bytes = Array(text.utf8)
    return try bytes.lend { (bytes) throws(E) -> R in try body(bytes) }
}

func with<R, E: Error>(_ one: String, _ two: String, _ body: (Bytes, Bytes) throws(E) -> R) throws(E) -> R {
    let (first, second) = (Array(one.utf8), Array(two.utf8))
    return try first.lend { (first) throws(E) -> R in
        try second.lend { (second) throws(E) -> R in try body(first, second) }
    }
}

func with<R, E: Error>(
    _ one: String, _ two: String, _ three: String, _ body: (Bytes, Bytes, Bytes) throws(E) -> R
) throws(E) -> R {
    let (first, second, third) = (Array(one.utf8), Array(two.utf8), Array(three.utf8))
    return try first.lend { (first) throws(E) -> R in
        try second.lend { (second) throws(E) -> R in
            try third.lend { (third) throws(E) -> R in try body(first, second, third) }
        }
    }
}

extension Bytes {
    var text: String { String(decoding: self, as: UTF8.self) }
}

extension [UInt8] {
    /// `withUnsafeBytes` with the body's own error type.
    func lend<R, E: Error>(_ body: (Bytes) throws(E) -> R) throws(E) -> R {
        try withUnsafeBufferPointer { (bytes) throws(E) -> R in try body(Bytes(bytes)) }
    }
}
