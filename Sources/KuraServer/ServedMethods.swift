import KuraBytes
import KuraProtocol
import KuraStorage

/// Which function answers a method. The closure is a member and no element: one that stands in an array itself is called through another one.
struct MethodHandler {
    let method: String
    let handler: Handler

    init(_ method: String, _ handler: @escaping Handler) {
        self.method = method
        self.handler = handler
    }
}

/// The methods as the server answers them: what is known of each before a request comes, found by the method's position in the table.
struct ServedMethods {
    private struct Row {
        let handler: Handler
        let access: AccessRule
        let audit: AuditRule?
        let isRemoval: Bool
    }
    private let rows: ContiguousArray<Row>
    /// Whose faults may strike requests; nil where nothing can be made to go wrong.
    let faultDesk: FaultDesk?

    /// - Parameters:
    ///   - table: the methods.
    ///   - handlers: one for each of them, in their order.
    ///   - faultDesk: whose faults may strike requests.
    init(_ table: MethodTable, _ handlers: [MethodHandler], faultDesk: FaultDesk? = nil) {
        self.faultDesk = faultDesk
        precondition(
            handlers.map(\.method) == table.methods.map(\.name),
            "Generated/Handlers.swift is stale: run scripts/docs")
        rows = ContiguousArray(
            zip(table.methods, handlers).map { method, answer in
                Row(
                    handler: faultDesk == nil ? answer.handler : FaultDesk.exposed(answer.handler, of: method),
                    access: AccessRule(method), audit: AuditRule(method),
                    isRemoval: method.isRemoval)
            })
    }

    /// What a request needs to have been granted.
    func access(_ method: Int) -> AccessRule { rows[method].access }

    /// What the audit is told of a request; nil: nothing, or its handler does it.
    func audit(_ method: Int) -> AuditRule? { rows[method].audit }

    /// Whether the method only takes something away.
    func isRemoval(_ method: Int) -> Bool { rows[method].isRemoval }

    /// Has the request that the call's reader holds answered by its handler.
    func answer(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        // No closure is picked first: that would make another one.
        try rows[call.reader.methodIndex].handler(call, &out, storage)
    }
}
