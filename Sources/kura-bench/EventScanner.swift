import Glibc

// Safety: the caller has `count` bytes at `start`; every place that is read lies before the last one at which a whole
// key fits.

// A GNU extension, which the toolchain's Glibc module leaves out; declared by its symbol, as epoll's calls are.
@_silgen_name("memmem")
private func find(
    _ bytes: UnsafeRawPointer, _ count: Int, _ wanted: UnsafeRawPointer, _ length: Int
) -> UnsafeMutableRawPointer?

/// Finds the keys of events in received bytes: Kura's `"key":"key:000000000001"`, Redis's keyspace notifications
/// (`__keyspace@0__:key:000000000001`). What lies between two keys is mostly as long as the time before, so that place is
/// looked at first.
struct EventScanner {
    private let marker: [UInt8]
    private var stride = 0

    init(wire: Target.Wire) {
        marker = Array((wire == .kura ? "\"key\":\"key:" : "@0__:key:").utf8)
    }

    /// Bytes of a key with its marker.
    var length: Int { marker.count + Digits.width }

    /// Calls `body` with each key's number.
    /// - Returns: how many bytes are used up; an event that is cut off stays behind them.
    mutating func scan(_ start: UnsafePointer<UInt8>, _ count: Int, _ body: (Int) -> Void) -> Int {
        var position = 0
        let last = count - length
        unsafe marker.withUnsafeBufferPointer { marker in
            while position <= last {
                var found = position + stride
                if unsafe found > last || memcmp(start + found, marker.baseAddress!, marker.count) != 0 {
                    guard let next = unsafe find(start + position, count - position, marker.baseAddress!, marker.count)
                    else {
                        position = max(position, last + 1)
                        return
                    }
                    found = unsafe UnsafePointer(next.assumingMemoryBound(to: UInt8.self)) - start
                    guard found <= last else {
                        position = found
                        return
                    }
                }
                var number = 0
                var isNumber = true
                for place in 0..<Digits.width {
                    let digit = unsafe start[found + marker.count + place] &- 0x30
                    if digit > 9 { isNumber = false }
                    number = number &* 10 &+ Int(digit)
                }
                // A subscription's pattern has a star there.
                if isNumber { body(number) }
                let end = found + (isNumber ? length : marker.count)
                stride = isNumber ? max(found - position, 0) : 0
                position = end
            }
        }
        return position
    }
}
