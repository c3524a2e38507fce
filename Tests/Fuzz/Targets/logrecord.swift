import KuraBytes

@testable import KuraStorage

/// `LogRecord`: whatever bytes a row has, they are records or damage; and records are the bytes that they were made from.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ data: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    withInput(data, count) { row in
        var offset = 0
        var again = RecordBuffer()
        do throws(StorageFault) {
            while true {
                let before = offset
                guard let record = try LogRecord.next(in: row, at: &offset) else { break }
                check(offset > before && offset <= row.count, "each record is a step forward")
                for part in [record.scope, record.key, record.writer, record.value] {
                    check(isInside(part, row), "its parts lie in the row")
                }
                again.append(record)
                checkBytes(row, before, offset, again.bytes)
            }
            check(offset == row.count && again.count == row.count, "nothing is left over")
        } catch {
            check(offset <= row.count, "damage lies in the row")
        }
    }
    return 0
}

private func isInside(_ part: Bytes, _ row: Bytes) -> Bool {
    guard let start = part.baseAddress, let first = row.baseAddress else { return part.isEmpty }
    return start >= first && start + part.count <= first + row.count
}

/// The record as it is encoded again ends `encoded`; but for the flags that have no meaning yet it is the same.
private func checkBytes(_ row: Bytes, _ lower: Int, _ upper: Int, _ encoded: Bytes) {
    check(encoded.count == upper, "its length")
    for position in lower..<upper {
        let mask: UInt8 = position == lower + 5 ? 1 : 0xFF
        check(encoded[position] == row[position] & mask, "its byte \(position - lower)")
    }
}
