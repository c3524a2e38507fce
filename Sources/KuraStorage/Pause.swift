import Glibc

/// How a thread waits for another that says nothing when it is done: shortly at first, and at most 20 ms at a time. A disk may hang for minutes.
struct Pause {
    private var microseconds: UInt32 = 200

    mutating func rest() {
        usleep(microseconds)
        microseconds = min(microseconds * 2, 20_000)
    }
}
