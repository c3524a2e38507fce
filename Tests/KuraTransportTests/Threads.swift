import Glibc

// What the test targets share is known in all files of this one.
@_exported public import KuraTestSupport

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

func nanoseconds() -> UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}
