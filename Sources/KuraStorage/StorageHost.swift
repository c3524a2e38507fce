/// What the daemon gives the storage: the loop that it runs on, and where it tells what happens.
struct StorageHost: Sendable {
    /// The event loop.
    let executor: any SerialExecutor
    /// Makes the loop take another turn; called from any thread.
    let wake: @Sendable () -> Void
    /// Takes lines on what has ended well; called on the loop.
    let remark: @Sendable (String) -> Void
    /// Takes lines on what the operator should look at; called on the loop.
    let report: @Sendable (String) -> Void
}
