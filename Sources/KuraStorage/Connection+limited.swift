package import KuraBytes
package import SQLite

extension Connection {
    /// Runs `body`, which is interrupted at that moment.
    /// - Returns: nil when it was, or when the system makes no thread that could do that: `body` is not run then.
    package func limited<Value>(
        until deadline: Deadline, _ body: () throws(SQLiteError) -> Value
    ) throws(SQLiteError) -> Value? {
        let isDone = Semaphore()
        // Safety: interrupting is all that the thread does, and it is joined before the connection can be closed.
        nonisolated(unsafe) let interrupted = self
        let watch = try? WorkerThread(name: "kura-limit", isBackground: false) {
            if !isDone.wait(until: deadline) { unsafe interrupted.interrupt() }
        }
        guard let watch else { return nil }
        defer {
            isDone.signal()
            watch.join()
        }
        do throws(SQLiteError) {
            let value = try body()
            // What was interrupted may say anything.
            return deadline.isOver ? nil : value
        } catch {
            if error.isInterrupted { return nil }
            throw error
        }
    }
}
