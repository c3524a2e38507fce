import KuraBytes
import KuraProtocol

/// `RequestReader` with whole lines, single or batch, against the model.
nonisolated(unsafe) private let judge = RequestJudge()

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ data: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    withInput(data, count) { judge.judge($0) }
    return 0
}
