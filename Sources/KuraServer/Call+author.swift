import KuraProtocol
import KuraStorage

extension Call {
    /// Whose the changes of the request are. Every handler gives it to what it changes.
    @inline(__always)
    func author(_ storage: isolated Storage) -> Author {
        // An operation is the request's that its transaction came in.
        Author(
            connection?.client.program(storage),
            operation: isOperation ? TransactionApply.methodIndex : reader.methodIndex,
            request: server.traffic.attempts, takesAway: attempt.takesAway)
    }
}

extension Server {
    /// Whose a slice of a transfer is: a request of its own on the write bill.
    func author(ofSlice connection: Connection, _ method: Int, _ storage: isolated Storage) -> Author {
        facts.traffic.beginSlice()
        return Author(
            connection.client.program(storage), operation: method, request: facts.traffic.attempts,
            takesAway: facts.methods.isRemoval(method))
    }
}
