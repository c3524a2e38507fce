#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif
import KuraSocket

/// What has a thread that sleeps in poll(2) look up.
final class WakePipe: Sendable {
    let output: Int32
    private let input: Int32

    init() throws(SystemError) {
        var ends: [Int32] = [-1, -1]
        // Safety: the array has room for the two.
        guard unsafe pipe(&ends) == 0 else { throw SystemError("pipe") }
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
        output = ends[0]
        input = ends[1]
    }

    deinit {
        close(output)
        close(input)
    }

    /// From any thread. A pipe that is full wakes as well.
    func wake() {
        var byte: UInt8 = 1
        // Safety: one byte, which is ours.
        _ = unsafe write(input, &byte, 1)
    }

    func drain() {
        var bytes = [UInt8](repeating: 0, count: 64)
        // Safety: the array's own room, with its length.
        while unsafe read(output, &bytes, bytes.count) == bytes.count {}
    }
}

/// A connected socket that several threads send on: it is closed when none of them has it any more.
///
/// Safe to share: a descriptor that never changes; the kernel takes calls on it from every thread.
final class SharedSocket: @unchecked Sendable {
    let socket: Socket

    init(_ socket: consuming Socket) { self.socket = socket }
}
