import KuraStorage
import KuraTransport

/// The daemon is not there for a while, or loses its power: a test has asked for it.
extension Server {
    /// The turn's replies have left.
    func beginOutage(_ outage: FaultDesk.Outage, _ storage: isolated Storage) {
        journal.log(.warning, "a fault that was injected", [("outage", "\(outage)")])
        switch outage {
        case .powerCut:
            do throws(StorageFault) { try storage.cutPower() } catch {
                journal.log(.error, "what was not synced could not be taken away", [("reason", "\(error)")])
            }
        case .gone(let time):
            facts.methods.faultDesk?.outage = nil
            crowd.doors.shut(until: time, loop)
            for connection in connections.all { close(connection) }
        }
    }
}
