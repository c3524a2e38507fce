import KuraBytes
import Testing

@Suite struct BytesTests {
    private let text = Array("0123456789".utf8)

    @Test func `parts count from 0 again and show the same bytes`() {
        text.withBytes { bytes in
            #expect(bytes.count == 10 && bytes[0] == 0x30 && bytes[9] == 0x39)
            let part = bytes.extracting(3..<7)
            #expect(Array(part) == Array("3456".utf8) && String(part) == "3456")
            #expect(Array(Bytes(rebasing: bytes[3..<7])) == Array(part))
            #expect(Array(Bytes(rebasing: part[1...])) == Array("456".utf8))
            #expect(bytes.extracting(10..<10).isEmpty && part.extracting(0..<4).count == 4)
            #expect(part.loadUnaligned(fromByteOffset: 2, as: UInt16.self).littleEndian == 0x3635)
            #expect(Array(bytes.dropFirst(8)) == Array("89".utf8) && bytes.map { $0 } == text)
        }
    }

    @Test func `no bytes are equal to no bytes, wherever they are not`() {
        text.withBytes { bytes in
            let none = Bytes()
            #expect(none.isEmpty && none.equals(bytes.extracting(4..<4)) && bytes.extracting(4..<4).equals(none))
            #expect(bytes.starts(with: none) && none.starts(with: none) && !none.starts(with: bytes))
            #expect(none.precedes(bytes) && !bytes.precedes(none) && !none.precedes(none))
            #expect(none.extracting(0..<0).isEmpty && none.first == nil && Array(none) == [])
            #expect(none.firstIndex(of: 0) == nil && !none.contains(0))
        }
    }

    @Test func `order is by bytes without a sign, a prefix comes first`() {
        let texts: [[UInt8]] = [[], [0], [0, 0], [0, 1], [0x7F], [0x80], [0xFF], [0xFF, 0]]
        for (position, left) in texts.enumerated() {
            for (other, right) in texts.enumerated() {
                left.withBytes { left in
                    right.withBytes { right in
                        #expect(left.precedes(right) == (position < other))
                        #expect(left.equals(right) == (position == other))
                    }
                }
            }
        }
    }

    @Test func `a search begins where it is told to and does not look behind the end`() {
        text.withBytes { bytes in
            #expect(bytes.firstIndex(of: 0x35) == 5 && bytes.firstIndex(of: 0x35, from: 5) == 5)
            #expect(bytes.firstIndex(of: 0x35, from: 6) == nil && bytes.firstIndex(of: 0x39, from: 10) == nil)
            #expect(bytes.extracting(0..<5).firstIndex(of: 0x35) == nil && !bytes.extracting(0..<5).contains(0x35))
        }
    }

    @Test func `a literal's bytes are there without anybody who lends them`() {
        #expect(Array(Bytes("abc")) == Array("abc".utf8) && Bytes("").isEmpty && Bytes("id").equals("id"))
        #expect(Array(Bytes(keeping: "kept")) == Array("kept".utf8))
    }

    // MARK: Bounds

    @Test func `an index outside of the bytes stops the program`() async {
        await #expect(processExitsWith: .failure) { _ = [1, 2, 3].withBytes { $0[3] } }
        await #expect(processExitsWith: .failure) { _ = [1, 2, 3].withBytes { $0[-1] } }
        await #expect(processExitsWith: .failure) { _ = Bytes()[0] }
    }

    @Test func `a range outside of the bytes stops the program`() async {
        await #expect(processExitsWith: .failure) { _ = [1, 2, 3].withBytes { $0.extracting(1..<4).count } }
        await #expect(processExitsWith: .failure) { _ = [1, 2, 3].withBytes { $0.extracting(-1..<2).count } }
        await #expect(processExitsWith: .failure) { _ = [1, 2, 3].withBytes { $0[2..<4].count } }
        await #expect(processExitsWith: .failure) {
            _ = [1, 2, 3].withBytes { Bytes(rebasing: Slice(base: $0, bounds: 0..<4)).count }
        }
        await #expect(processExitsWith: .failure) { _ = [1, 2, 3].withBytes { $0.firstIndex(of: 9, from: 4) } }
    }

    @Test func `a load that does not lie within the bytes stops the program`() async {
        await #expect(processExitsWith: .failure) {
            _ = [1, 2, 3].withBytes { $0.loadUnaligned(fromByteOffset: 0, as: UInt32.self) }
        }
        await #expect(processExitsWith: .failure) {
            _ = [1, 2, 3, 4].withBytes { $0.loadUnaligned(fromByteOffset: -1, as: UInt16.self) }
        }
        await #expect(processExitsWith: .failure) {
            _ = [1, 2, 3, 4].withBytes { $0.loadUnaligned(fromByteOffset: .max, as: UInt16.self) }
        }
    }
}

@Suite struct RowTests {
    @Test func `values stay where they were put while the row grows`() {
        var row = GrowingRow<Int>()
        #expect(row.count == 0 && row.capacity == 0 && row.values().count == 0)
        for number in 0..<1000 { row.append(number * 3) }
        #expect((0..<1000).allSatisfy { row[$0] == $0 * 3 })
        row[7] = -1
        let rest = row.values(from: 5)
        #expect(rest.count == 995 && rest[2] == -1)
        row.sort(from: 5) { $0 > $1 }
        #expect(row[4] == 12 && row[5] == 2997 && row[999] == -1)
        row.truncate(to: 3)
        #expect(row.count == 3 && row.capacity >= 1000)
        row.releaseMemory()
        #expect(row.count == 0 && row.capacity == 0)
        row.append(1)
        #expect(row[0] == 1)
    }

    @Test func `cells and rows hold what was put in last`() {
        let cell = Cell((left: 1, right: "a"))
        cell.pointee.left += 1
        cell.pointee.right += "b"
        #expect(cell.pointee == (2, "ab"))
        let row = CellRow(repeating: "x", count: 3)
        row[1] += "y"
        #expect(row[0] == "x" && row[1] == "xy" && row[2] == "x" && row.count == 3)
        let kept = KeptRow(["a", "b"])
        #expect(Array(kept) == ["a", "b"] && kept[1] == "b" && KeptRow([Int]()).isEmpty)
    }

    @Test func `an index outside of a row stops the program`() async {
        await #expect(processExitsWith: .failure) { _ = CellRow(repeating: 1, count: 3)[3] }
        await #expect(processExitsWith: .failure) { _ = KeptRow([1, 2])[-1] }
        await #expect(processExitsWith: .failure) {
            var row = GrowingRow<Int>()
            row.append(1)
            _ = row[1]
        }
        await #expect(processExitsWith: .failure) {
            var row = GrowingRow<Int>()
            row.append(1)
            row.truncate(to: 0)
            _ = row.values()[0]
        }
    }
}
