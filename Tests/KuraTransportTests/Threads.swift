import Glibc

/// Threads that run one body, with their numbers.
final class Threads {
    private final class Start {
        let index: Int
        let body: @Sendable (Int) -> Void
        init(index: Int, body: @escaping @Sendable (Int) -> Void) {
            self.index = index
            self.body = body
        }
    }
    private var handles: [pthread_t] = []

    init(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) {
        for index in 0..<count {
            var handle = pthread_t()
            pthread_create(
                &handle, nil,
                { argument in
                    let start = Unmanaged<Start>.fromOpaque(argument!).takeRetainedValue()
                    start.body(start.index)
                    return nil
                }, Unmanaged.passRetained(Start(index: index, body: body)).toOpaque())
            handles.append(handle)
        }
    }

    func join() {
        for handle in handles { pthread_join(handle, nil) }
        handles = []
    }
}

/// A pair of connected stream sockets.
final class Pair {
    let left: Int32
    let right: Int32

    init() {
        var ends: [Int32] = [0, 0]
        let result = socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0, &ends)
        precondition(result == 0, "socketpair: \(errno)")
        (left, right) = (ends[0], ends[1])
    }

    deinit {
        close(left)
        close(right)
    }
}

func nanoseconds() -> UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}
