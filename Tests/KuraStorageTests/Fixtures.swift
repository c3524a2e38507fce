import Glibc
import KuraBytes
import SQLite

@testable import KuraStorage

/// A directory that goes with the test.
final class TemporaryDirectory {
    let path: String

    init() {
        var template = Array("/tmp/kura-storage-XXXXXX".utf8CString)
        precondition(mkdtemp(&template) != nil, "mkdtemp: \(errno)")
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit {
        Self.remove(path)
    }

    static func remove(_ path: String) {
        var information = stat()
        guard lstat(path, &information) == 0 else { return }
        if information.st_mode & S_IFMT == S_IFDIR {
            for name in (try? FileSystem.names(in: path)) ?? [] { remove(path + "/" + name) }
            rmdir(path)
        } else {
            unlink(path)
        }
    }
}

extension StorageConfiguration {
    /// Small enough that a test reaches every bound.
    static func tiny(_ directory: String) -> StorageConfiguration {
        var configuration = StorageConfiguration(dataDirectory: directory, profile: .small)
        configuration.minFreeBytes = 0
        configuration.segmentBytes = 256 << 10
        configuration.retentionBytes = 0
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

/// Numbers that a seed repeats (Steele et al., OOPSLA 2014).
struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }
}

extension [UInt8] {
    /// `withUnsafeBytes` with the body's own error type.
    func lend<R, E: Error>(_ body: (Bytes) throws(E) -> R) throws(E) -> R {
        try withUnsafeBufferPointer { (bytes) throws(E) -> R in try body(Bytes(bytes)) }
    }
}
