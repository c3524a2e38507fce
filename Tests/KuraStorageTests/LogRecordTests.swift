import Testing

@testable import KuraStorage

@Suite struct LogRecordTests {
    private struct Plain: Equatable {
        var store: Store
        var isTombstone: Bool
        var rev: UInt64
        var parts: [String]

        init(store: Store, isTombstone: Bool, rev: UInt64, parts: [String]) {
            (self.store, self.isTombstone, self.rev, self.parts) = (store, isTombstone, rev, parts)
        }

        init(_ record: LogRecord) {
            self.init(
                store: record.store, isTombstone: record.isTombstone, rev: record.rev,
                parts: [record.scope.text, record.key.text, record.writer.text, record.value.text])
        }

        func append(to buffer: inout RecordBuffer) {
            with(parts[0], parts[1], parts[2]) { scope, key, writer in
                with(parts[3]) { value in
                    buffer.append(
                        LogRecord(
                            store: store, isTombstone: isTombstone, rev: rev, scope: scope, key: key, writer: writer,
                            value: value))
                }
            }
        }
    }

    private let records = [
        Plain(store: .settings, isTombstone: false, rev: 1, parts: ["app", "theme", "client", "\"dark\""]),
        Plain(store: .documents, isTombstone: true, rev: .max >> 1, parts: ["c", "id", "", ""]),
        Plain(
            store: .documents, isTombstone: false, rev: 3,
            parts: [
                String(repeating: "s", count: 128), String(repeating: "k", count: 512),
                String(repeating: "w", count: 128),
                String(repeating: "v", count: 300_000),
            ]),
        Plain(store: .settings, isTombstone: false, rev: 4, parts: ["d", "k", "", "1"]),
    ]

    private func encoded(_ records: [Plain]) -> [UInt8] {
        var buffer = RecordBuffer()
        for record in records { record.append(to: &buffer) }
        return Array(buffer.bytes)
    }

    private func decoded(_ bytes: [UInt8]) throws(StorageFault) -> [Plain] {
        try bytes.lend { (bytes) throws(StorageFault) -> [Plain] in
            var offset = 0
            var found: [Plain] = []
            while let record = try LogRecord.next(in: bytes, at: &offset) { found.append(Plain(record)) }
            return found
        }
    }

    @Test func `records come back as they went in, in order`() throws {
        #expect(try decoded(encoded(records)) == records)
        #expect(try decoded([]).isEmpty)
    }

    @Test func `the layout is the one that is on disks`() {
        let bytes = encoded([Plain(store: .documents, isTombstone: true, rev: 0x0102, parts: ["ab", "c", "de", "f"])])
        #expect(
            bytes == [26, 0, 0, 0, 2, 1, 2, 0, 1, 0, 2, 0, 1, 0, 0, 0, 2, 1, 0, 0, 0, 0, 0, 0] + Array("abcdef".utf8))
    }

    @Test func `a row that was cut short is damage, wherever it was cut`() throws {
        let small = [records[0], records[3]]
        let bytes = encoded(small)
        let first = encoded([small[0]]).count
        for length in 1..<bytes.count where length != first {
            #expect(throws: StorageFault.self, "\(length)") { try decoded(Array(bytes[..<length])) }
        }
        #expect(try decoded(Array(bytes[..<first])) == [small[0]])
    }

    @Test(arguments: [0, 4, 6, 8, 10, 12, 15]) func `a length or store that does not fit is damage`(position: Int) {
        var bytes = encoded([records[0]])
        bytes[position] ^= 0x40
        #expect(throws: StorageFault.self) { try decoded(bytes) }
    }

    @Test func `truncating takes back the newest records only`() throws {
        var buffer = RecordBuffer()
        records[0].append(to: &buffer)
        let mark = buffer.count
        for record in records[1...] { record.append(to: &buffer) }
        buffer.truncate(to: mark)
        records[3].append(to: &buffer)
        #expect(try decoded(Array(buffer.bytes)) == [records[0], records[3]])
        buffer.truncate(to: 0)
        #expect(buffer.bytes.isEmpty)
    }

    @Test func `the memory of one large turn is given back and the buffer goes on`() throws {
        var buffer = RecordBuffer()
        let large = Plain(
            store: .documents, isTombstone: false, rev: 1,
            parts: ["c", "k", "", String(repeating: "x", count: 6 << 20)])
        large.append(to: &buffer)
        buffer.truncate(to: 0)
        for record in records { record.append(to: &buffer) }
        #expect(try decoded(Array(buffer.bytes)) == records)
    }
}
