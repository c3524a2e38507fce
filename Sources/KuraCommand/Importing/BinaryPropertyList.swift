import KuraBytes
import KuraClient
import KuraProtocol

/// Reads a binary property list.
///
/// `bplist00`, then objects, then a table of their offsets, then 32 bytes that say how wide offsets and references are, how many
/// objects there are, which is the first, and where the table is. An object begins with a byte of type and size; a size of 15 is an
/// integer object that follows. Nothing in the file is trusted: every offset, size and reference is checked, and an object that holds
/// itself is refused. Source: CFBinaryPList.c of apple/swift-corelibs-foundation.
struct BinaryPropertyList {
    private let bytes: [UInt8]
    private let offsetSize: Int
    private let referenceSize: Int
    private let objects: Int
    private let top: Int
    private let table: Int
    private var count = 0
    /// Bytes of texts and data so far, each as often as it is referred to.
    private var expanded = 0
    /// Those that are being read, from the outermost.
    private var open: Set<Int> = []

    init(_ bytes: [UInt8]) throws(Failure) {
        self.bytes = bytes
        guard bytes.count >= 8 + 32 else { throw Self.fault("it is cut off") }
        guard bytes.starts(with: Array("bplist00".utf8)) else { throw Self.fault("its version is unknown") }
        let trailer = bytes.count - 32
        offsetSize = Int(bytes[trailer + 6])
        referenceSize = Int(bytes[trailer + 7])
        func number(_ offset: Int) -> UInt64 {
            bytes[(trailer + offset)..<(trailer + offset + 8)].reduce(0) { $0 << 8 | UInt64($1) }
        }
        guard (1...8).contains(offsetSize), (1...8).contains(referenceSize) else {
            throw Self.fault("its end is damaged")
        }
        let limit = UInt64(trailer)
        guard number(8) <= limit, number(16) < number(8), number(24) >= 8, number(24) <= limit,
            (limit - number(24)) / UInt64(offsetSize) >= number(8)
        else { throw Self.fault("it is cut off, or its end is damaged") }
        (objects, top, table) = (Int(number(8)), Int(number(16)), Int(number(24)))
    }

    mutating func read() throws(Failure) -> PropertyList { try object(top) }

    private static func fault(_ message: String) -> Failure { .usage("the property list is broken: \(message)") }

    private func integer(_ offset: Int, _ size: Int) throws(Failure) -> UInt64 {
        guard offset >= 8, size >= 1, size <= 8, offset <= table - size else {
            throw Self.fault("an object is cut off")
        }
        return bytes[offset..<(offset + size)].reduce(0) { $0 << 8 | UInt64($1) }
    }

    private mutating func object(_ index: Int) throws(Failure) -> PropertyList {
        guard index < objects else { throw Self.fault("it refers to an object that is not there") }
        count += 1
        guard count <= PropertyList.maximumValues else { throw Self.fault("it has too many values") }
        guard open.count < PropertyList.maximumDepth else { throw Self.fault("it is nested too deep") }
        guard open.insert(index).inserted else { throw Self.fault("an object holds itself") }
        defer { open.remove(index) }
        let place = table + index * offsetSize
        let start = bytes[place..<(place + offsetSize)].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        guard start >= 8, start < UInt64(table) else { throw Self.fault("an object lies outside") }
        let offset = Int(start)
        let (kind, low) = (bytes[offset] >> 4, Int(bytes[offset] & 15))
        switch kind {
        case 0x0:
            switch low {
            case 8: return .boolean(false)
            case 9: return .boolean(true)
            default: throw Self.fault("an object of an unknown kind")
            }
        case 0x1: return try number(at: offset + 1, low)
        case 0x2: return try real(at: offset + 1, low)
        case 0x3:
            guard low == 3 else { throw Self.fault("a date of an unknown size") }
            return try date(Double(bitPattern: try integer(offset + 1, 8)))
        case 0x4:
            let range = try contents(offset, low, width: 1)
            return .data(Array(bytes[range]))
        case 0x5:
            let range = try contents(offset, low, width: 1)
            guard bytes[range].allSatisfy({ $0 < 0x80 }) else { throw Self.fault("a text that is not ASCII") }
            return .string(String(decoding: bytes[range], as: UTF8.self))
        case 0x6:
            let range = try contents(offset, low, width: 2)
            let units = stride(from: range.lowerBound, to: range.upperBound, by: 2).map {
                UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1])
            }
            guard let text = String(validating: units, as: UTF16.self) else {
                throw Self.fault("a text that is not UTF-16")
            }
            return .string(text)
        case 0x8: return .reference(Int(truncatingIfNeeded: try integer(offset + 1, low + 1)))
        // Sets are lists without an order.
        case 0xA, 0xB, 0xC:
            var items: [PropertyList] = []
            for reference in try references(offset, low, lists: 1) { items.append(try object(reference)) }
            return .array(items)
        case 0xD: return try dictionary(try references(offset, low, lists: 2))
        default: throw Self.fault("an object of an unknown kind")
        }
    }

    private mutating func dictionary(_ references: [Int]) throws(Failure) -> PropertyList {
        let size = references.count / 2
        var entries: [PropertyList.Entry] = []
        var places: [String: Int] = [:]
        for index in 0..<size {
            guard case .string(let key) = try object(references[index]) else {
                throw Self.fault("a key that is no text")
            }
            let value = try object(references[size + index])
            if let place = places[key] {
                entries[place].value = value
            } else {
                places[key] = entries.count
                entries.append(PropertyList.Entry(key: key, value: value))
            }
        }
        return .dictionary(entries)
    }

    // MARK: Sizes

    /// Where an object's contents are: so many elements of some bytes each.
    private func range(_ offset: Int, _ low: Int, width: Int) throws(Failure) -> Range<Int> {
        var (start, size) = (offset + 1, UInt64(low))
        if low == 15 {
            guard start < table, bytes[start] >> 4 == 1, bytes[start] & 15 <= 3 else {
                throw Self.fault("an object without its size")
            }
            let bytesOfSize = 1 << Int(bytes[start] & 15)
            size = try integer(start + 1, bytesOfSize)
            start += 1 + bytesOfSize
        }
        guard start <= table, size <= UInt64(table - start) / UInt64(width) else {
            throw Self.fault("an object is cut off")
        }
        return start..<(start + Int(size) * width)
    }

    /// The same of texts and data, which are counted.
    private mutating func contents(_ offset: Int, _ low: Int, width: Int) throws(Failure) -> Range<Int> {
        let range = try range(offset, low, width: width)
        expanded += range.count
        guard expanded <= bytes.count + PropertyList.maximumBytes else {
            throw Self.fault("it refers to the same texts too often")
        }
        return range
    }

    private func references(_ offset: Int, _ low: Int, lists: Int) throws(Failure) -> [Int] {
        let range = try range(offset, low, width: referenceSize * lists)
        var references: [Int] = []
        for start in stride(from: range.lowerBound, to: range.upperBound, by: referenceSize) {
            let number = try integer(start, referenceSize)
            guard number < UInt64(objects) else { throw Self.fault("it refers to an object that is not there") }
            references.append(Int(number))
        }
        return references
    }

    // MARK: Numbers

    /// Up to four bytes are without a sign, eight with one, sixteen hold what is more than eight can.
    private func number(at offset: Int, _ power: Int) throws(Failure) -> PropertyList {
        switch power {
        case 0...2: return .number(String(try integer(offset, 1 << power)))
        case 3: return .number(String(Int64(bitPattern: try integer(offset, 8))))
        case 4:
            let high = try integer(offset, 8)
            let low = try integer(offset + 8, 8)
            guard high == 0 || high == UInt64.max else { throw Self.fault("an integer that is too large") }
            return .number(high == 0 ? String(low) : String(Int64(bitPattern: low)))
        default: throw Self.fault("an integer of an unknown size")
        }
    }

    private func real(at offset: Int, _ power: Int) throws(Failure) -> PropertyList {
        let value: Double
        switch power {
        case 2: value = Double(Float(bitPattern: UInt32(try integer(offset, 4))))
        case 3: value = Double(bitPattern: try integer(offset, 8))
        default: throw Self.fault("a number of an unknown size")
        }
        return value.isFinite ? .number("\(value)") : .notFinite("\(value)")
    }

    /// Seconds since 2001-01-01T00:00:00Z.
    private func date(_ seconds: Double) throws(Failure) -> PropertyList {
        let since1970 = (seconds + 978_307_200) * 1000
        guard since1970.isFinite, since1970 >= -62_135_596_800_000, since1970 < 253_402_300_800_000 else {
            throw Self.fault("a date that no calendar has")
        }
        var output = ByteBuffer()
        output.append(timestamp: Int64(since1970.rounded()))
        let text = JSONObject.string(Array(output.bytes)) ?? ""
        // As in XML, where there are no fractions.
        return .date(text.hasSuffix(".000Z") ? String(text.dropLast(5)) + "Z" : text)
    }
}
