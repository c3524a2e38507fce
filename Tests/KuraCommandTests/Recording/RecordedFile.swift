import Glibc
import Testing

/// A recording that goes with the test.
final class RecordedFile {
    let path = "/tmp/kura-replayed-\(getpid())-\(UInt32.random(in: 0 ... .max)).jsonl"

    init(_ text: String) throws {
        let file = try #require(fopen(path, "w"))
        fputs(text, file)
        fclose(file)
    }

    deinit { unlink(path) }
}
