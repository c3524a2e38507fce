import Glibc

/// A condition that has not come.
package struct InVain: Error, CustomStringConvertible {
    package var description: String
}

/// Looks again and again until something holds: for a minute, within which it comes however busy the machine is.
/// - Throws: `InVain`, which says what was waited for.
package func waitFor(_ what: @autoclosure () -> String, _ holds: () throws -> Bool) throws {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    let deadline = time.tv_sec + Sanitizers.patience
    while true {
        // Before it is called late: this thread may have been held up for as long.
        clock_gettime(CLOCK_MONOTONIC, &time)
        let isLate = time.tv_sec > deadline
        if try holds() { return }
        if isLate { throw InVain(description: "waited in vain: \(what())") }
        usleep(5000)
    }
}
