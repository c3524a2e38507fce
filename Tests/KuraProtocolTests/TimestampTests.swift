import KuraBytes
import KuraProtocol
import Testing

@Suite struct TimestampTests {
    private func milliseconds(_ text: String) -> Int64? { Array(text.utf8).withBytes { Timestamp.milliseconds($0) } }

    @Test(
        arguments: [
            0, 1, 951_782_399_999, 951_782_400_000, 1_709_164_800_000, 4_102_444_800_123, -1, -62_135_596_800_000,
            253_402_300_799_999,
        ] as [Int64])
    func `what is written is read again`(moment: Int64) {
        var text = ByteBuffer()
        text.append(timestamp: moment)
        #expect(Timestamp.milliseconds(text.bytes.extracting(1..<text.count - 1)) == moment)
    }

    @Test func `fractions may be left out or be longer`() {
        #expect(milliseconds("1970-01-01T00:00:01Z") == 1000)
        #expect(milliseconds("1970-01-01T00:00:00.5Z") == 500)
        #expect(milliseconds("1970-01-01T00:00:00.123999999Z") == 123)
        #expect(milliseconds("2000-02-29T00:00:00Z") == 951_782_400_000)
    }

    @Test(arguments: [
        "", "1970-01-01", "1970-01-01T00:00:00", "1970-01-01T00:00:00+00:00", "1970-01-01t00:00:00Z",
        "1970-13-01T00:00:00Z",
        "1970-00-01T00:00:00Z", "1970-01-32T00:00:00Z", "1900-02-29T00:00:00Z", "1970-01-00T00:00:00Z",
        "1970-01-01T24:00:00Z", "1970-01-01T00:60:00Z", "1970-01-01T00:00:61Z", "1970-01-01T00:00:00.Z",
        "1970-01-01T00:00:00.1234567890Z", "1970-01-01T00:00:00.12xZ", "+970-01-01T00:00:00Z", "1970-01-01 00:00:00Z",
    ])
    func `nothing else is a time`(text: String) { #expect(milliseconds(text) == nil) }
}
