/// What the daemon as a whole is doing at one moment, for whoever asks. It is made of what the server has anyway, when somebody does.
struct DaemonState {
    var isDraining = false
    /// Everything is being looked through, unasked.
    var isChecking = false
    /// How many are open.
    var connections = 0
    /// Where clients come in.
    var sockets: [DaemonSocket] = []
    /// nil: no snapshots are scheduled.
    var backups: BackupHealth?
    var queues = QueueDepths()
}

extension Server {
    var present: DaemonState {
        DaemonState(
            isDraining: drain.hasBegun, isChecking: jobs.checks?.isRunning ?? false, connections: connections.count,
            sockets: crowd.doors.sockets, backups: jobs.backups?.health, queues: queueDepths)
    }
}
