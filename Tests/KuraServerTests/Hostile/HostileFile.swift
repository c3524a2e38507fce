import KuraBytes
import Sodium

@testable import KuraStorage

/// A backup or seed bundle taken apart, so that any field of it can say something else. Put together again its digests fit.
struct HostileFile {
    enum Part {
        case record(HostileRecord)
        case model(HostileModel)
        /// Any other frame, or one of another kind than it should be: its kind and what stands behind it.
        case frame(UInt8, [UInt8])
    }

    var magic: [UInt8]
    var parts: [Part] = []
    /// What all frames but the last begin with.
    var messageTag = BackupFormat.messageTag

    init(_ bytes: [UInt8]) throws {
        magic = Array(bytes[..<8])
        var position = BackupFormat.fixedBytes + BackupFormat.digestBytes
        while position < bytes.count {
            let length = Int(UInt32(bytes, at: position))
            let payload = Array(bytes[position + 5..<position + 4 + length - BackupFormat.digestBytes])
            position += 4 + length
            let (kind, rest) = (payload[0], Array(payload[1...]))
            switch BackupFormat.Payload(rawValue: kind) {
            case .records: parts += Self.pieces(rest).map { .record(HostileRecord($0)) }
            case .models: parts += Self.pieces(rest).map { .model(HostileModel($0)) }
            default: parts.append(.frame(kind, rest))
            }
        }
    }

    /// What stands behind lengths of four bytes.
    private static func pieces(_ bytes: [UInt8]) -> [[UInt8]] {
        var pieces: [[UInt8]] = []
        var position = 0
        while position < bytes.count {
            let end = position + 4 + Int(UInt32(bytes, at: position))
            pieces.append(Array(bytes[position..<end]))
            position = end
        }
        return pieces
    }

    /// The file, with digests that fit.
    var bytes: [UInt8] {
        var file = magic
        file.append(BackupFormat.version)
        file += [BackupFormat.Suite.plain.rawValue, 0]
        file.append(UInt32(BackupFormat.fixedBytes + BackupFormat.digestBytes))
        var chain = Self.digest([file])
        file += chain
        let frames = frames
        for (position, frame) in frames.enumerated() {
            let isLast = position == frames.count - 1
            let body = [isLast ? BackupFormat.finalTag : messageTag] + frame
            chain = Self.digest([chain, body])
            file.append(UInt32(body.count + chain.count))
            file += body + chain
        }
        return file
    }

    /// Records and models that follow one another share a frame.
    private var frames: [[UInt8]] {
        var frames: [[UInt8]] = []
        var open: UInt8?
        for part in parts {
            let (kind, bytes, joins): (UInt8, [UInt8], Bool) =
                switch part {
                case .record(let record): (BackupFormat.Payload.records.rawValue, record.bytes, true)
                case .model(let model): (BackupFormat.Payload.models.rawValue, model.bytes, true)
                case .frame(let kind, let bytes): (kind, bytes, false)
                }
            if joins, open == kind {
                frames[frames.count - 1] += bytes
            } else {
                frames.append([kind] + bytes)
            }
            open = joins ? kind : nil
        }
        return frames
    }

    private static func digest(_ parts: [[UInt8]]) -> [UInt8] {
        var hash = GenericHash()
        for part in parts { part.withBytes { hash.update($0) } }
        return hash.finish()
    }

    // MARK: Finding and changing

    /// The number of the record or model at a place, counted from 1 as the guard counts.
    func number(at place: Int) -> Int {
        parts[...place].reduce(0) { if case .frame = $1 { $0 } else { $0 + 1 } }
    }

    func record(at place: Int) -> HostileRecord? { if case .record(let record) = parts[place] { record } else { nil } }

    /// The place of the first record that fits.
    func place(where fits: (HostileRecord) -> Bool) -> Int? {
        parts.indices.first { record(at: $0).map(fits) ?? false }
    }

    func changing(_ place: Int, _ change: (inout HostileRecord) -> Void) -> HostileFile {
        var file = self
        guard var record = record(at: place) else { return file }
        change(&record)
        file.parts[place] = .record(record)
        return file
    }

    /// The manifest's place, and its text.
    var manifest: (place: Int, text: String) {
        for (place, part) in parts.enumerated() {
            if case .frame(BackupFormat.Payload.manifest.rawValue, let text) = part {
                return (place, String(decoding: text, as: UTF8.self))
            }
        }
        return (parts.count - 1, "")
    }

    func saying(manifest text: String) -> HostileFile {
        var file = self
        file.parts[manifest.place] = .frame(BackupFormat.Payload.manifest.rawValue, Array(text.utf8))
        return file
    }
}

/// The pieces of a content, each free to be anything.
enum HostileContent {
    /// A piece of the content that a frame has whole. `total`: bytes in all, when it is to say others.
    static func piece(of frame: [UInt8], _ range: Range<Int>, total: Int? = nil) -> HostileFile.Part {
        var bytes = Array(frame[..<32])
        bytes.append(UInt64(total ?? (frame.count - 48)))
        bytes.append(UInt64(range.lowerBound))
        bytes += frame[48 + range.lowerBound..<48 + range.upperBound]
        return .frame(BackupFormat.Payload.content.rawValue, bytes)
    }

    /// The content of a frame in pieces that are not what a daemon writes, but for the first ones; it has four bytes at least.
    static func orders(of frame: [UInt8]) -> [(String, [HostileFile.Part])] {
        let size = frame.count - 48
        func piece(_ range: Range<Int>) -> HostileFile.Part { Self.piece(of: frame, range) }
        let whole = piece(0..<size)
        return [
            ("in two pieces", [piece(0..<2), piece(2..<size)]), ("twice", [whole, whole]),
            ("with a gap", [piece(0..<2), piece(3..<size)]), ("swapped", [piece(2..<size), piece(0..<2)]),
            ("cut off", [piece(0..<2)]), ("from the middle", [piece(2..<size)]),
            ("overlapping", [piece(0..<3), piece(2..<size)]), ("begun anew", [piece(0..<2), whole]),
            ("an empty piece", [piece(0..<2), piece(2..<2), piece(2..<size)]),
            ("another size", [piece(0..<2), Self.piece(of: frame, 2..<size, total: size + 1)]),
        ]
    }
}

/// The fields of a `BackupRecord`, each free to be anything.
struct HostileRecord {
    var store: UInt8
    var flags: UInt8
    var reserved: (UInt16, UInt32)
    var version: UInt32
    var rev: UInt64
    var createdAt: Int64
    var updatedAt: Int64
    var row: UInt64
    var scope: [UInt8]
    var key: [UInt8]
    var value: [UInt8]
    /// What its length is wrong by.
    var excess: Int32 = 0

    init(_ bytes: [UInt8]) {
        (store, flags) = (bytes[4], bytes[5])
        reserved = (UInt16(bytes, at: 10), UInt32(bytes, at: 20))
        version = UInt32(bytes, at: 16)
        rev = UInt64(bytes, at: 24)
        createdAt = Int64(bitPattern: UInt64(bytes, at: 32))
        updatedAt = Int64(bitPattern: UInt64(bytes, at: 40))
        row = UInt64(bytes, at: 48)
        let scopeEnd = BackupRecord.headLength + Int(UInt16(bytes, at: 6))
        let keyEnd = scopeEnd + Int(UInt16(bytes, at: 8))
        scope = Array(bytes[BackupRecord.headLength..<scopeEnd])
        key = Array(bytes[scopeEnd..<keyEnd])
        value = Array(bytes[keyEnd...])
    }

    var bytes: [UInt8] {
        var bytes: [UInt8] = []
        let length = BackupRecord.headLength - 4 + scope.count + key.count + value.count
        bytes.append(UInt32(truncatingIfNeeded: length + Int(excess)))
        bytes += [store, flags]
        bytes.append(UInt16(scope.count))
        bytes.append(UInt16(key.count))
        bytes.append(reserved.0)
        bytes.append(UInt32(value.count))
        bytes.append(version)
        bytes.append(reserved.1)
        bytes.append(rev)
        bytes.append(UInt64(bitPattern: createdAt))
        bytes.append(UInt64(bitPattern: updatedAt))
        bytes.append(row)
        return bytes + scope + key + value
    }

    func isOf(_ store: Store, _ scope: String, _ key: String) -> Bool {
        self.store == store.rawValue && self.scope == Array(scope.utf8) && self.key == Array(key.utf8)
    }
}

/// The fields of a `BundleModel`.
struct HostileModel {
    /// 0 a namespace, 1 an entry.
    var kind: UInt8
    var storedAt: Int64 = 0
    /// The namespace's name, or the entry's key.
    var key: [UInt8]
    var etag: [UInt8] = []
    var tags: [UInt8] = []
    /// The namespace's configuration, or the entry's value.
    var value: [UInt8]

    init(_ bytes: [UInt8]) {
        kind = bytes[4]
        guard kind == 1 else {
            let end = 7 + Int(UInt16(bytes, at: 5))
            (key, value) = (Array(bytes[7..<end]), Array(bytes[end...]))
            return
        }
        storedAt = Int64(bitPattern: UInt64(bytes, at: 5))
        var position = 19
        var parts: [[UInt8]] = []
        for place in [13, 15, 17] {
            let end = position + Int(UInt16(bytes, at: place))
            parts.append(Array(bytes[position..<end]))
            position = end
        }
        (key, etag, tags, value) = (parts[0], parts[1], parts[2], Array(bytes[position...]))
    }

    var bytes: [UInt8] {
        var body = [kind]
        if kind == 1 {
            body.append(UInt64(bitPattern: storedAt))
            for part in [key, etag, tags] { body.append(UInt16(part.count)) }
            body += key + etag + tags + value
        } else {
            body.append(UInt16(key.count))
            body += key + value
        }
        var bytes: [UInt8] = []
        bytes.append(UInt32(body.count))
        return bytes + body
    }
}

extension FixedWidthInteger {
    /// Little endian, from a place of a file.
    fileprivate init(_ bytes: [UInt8], at place: Int) {
        self = (0..<Self.bitWidth / 8).reduce(0) { $0 | Self(truncatingIfNeeded: bytes[place + $1]) << Self($1 * 8) }
    }
}

extension [UInt8] {
    fileprivate mutating func append(_ number: some FixedWidthInteger) {
        for place in 0..<number.bitWidth / 8 {
            append(UInt8(truncatingIfNeeded: number >> (place * 8)))
        }
    }
}
