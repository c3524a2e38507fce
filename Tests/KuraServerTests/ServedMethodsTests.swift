import KuraProtocol
import Testing

@testable import KuraServer

/// What the server knows of each method before a request comes.
@Suite struct ServedMethodsTests {
    private static let table = MethodTable.standard

    @Test func `each method has its own rules`() {
        let methods = ServedMethods(Self.table, allHandlers)
        for (position, method) in Self.table.methods.enumerated() {
            #expect(methods.isRemoval(position) == method.isRemoval, "\(method.name)")
            let isTold = method.audit == .told || method.audit == .required
            #expect((methods.audit(position) != nil) == isTold, "\(method.name)")
            #expect(methods.access(position).asksOperations == (method.name == "transaction.apply"), "\(method.name)")
        }
    }
}
