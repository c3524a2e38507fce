public import KuraClient
import KuraProtocol

/// Something that goes wrong on purpose, so that a test sees what an application does then.
///
///     let kura = try await Kura.inMemory()
///     let full = try await kura.inject(.full)
///     await #expect(throws: KuraError.self) { try await notes.save() }    // noSpace
///     try await full.clear()
///     try await kura.inject(.conflict("documents.put"))                   // the next one that has a condition
///     try await notes.save()                                              // has read again, and tried again
public struct Fault: Sendable {
    let kind: Method.FaultKind
    var method: String?
    var count: Int?
    var duration: Duration?

    private init(
        _ kind: Method.FaultKind, _ method: String? = nil, count: Int? = nil, lasting duration: Duration? = nil
    ) {
        (self.kind, self.method, self.count, self.duration) = (kind, method, count, duration)
    }

    /// The disk is full until it is cleared: `noSpace`, while reads and deletions go on.
    public static let full = Fault(.full)
    /// The disk is full for so long.
    public static func full(for duration: Duration) -> Fault { Fault(.full, lasting: duration) }
    /// The next sync fails: whose write it was gets `outcomeUnknown`, unless its client asks again, and the daemon starts anew.
    public static let failingSync = Fault(.sync)
    /// What is acknowledged before it is synced is lost, connections end, and the daemon starts anew.
    public static let powerCut = Fault(.powerCut)
    /// Nobody is there for so long: connections end, and none can be made.
    public static func gone(for duration: Duration) -> Fault { Fault(.gone, lasting: duration) }

    /// Requests are begun so much later; others do not wait for them.
    /// - Parameters:
    ///   - delay: how much, in whole milliseconds.
    ///   - method: whose requests; nil: all.
    ///   - count: how many; nil: all until it is cleared.
    /// - Returns: the fault, to be injected.
    public static func slow(by delay: Duration, _ method: String? = nil, count: Int? = nil) -> Fault {
        Fault(.slow, method, count: count, lasting: delay)
    }

    /// The next writes with `ifRev` find that another writer came first. Nothing is changed, and the revision that they are told is the item's.
    /// - Parameters:
    ///   - method: whose requests; nil: all that have such a condition.
    ///   - count: how many.
    /// - Returns: the fault, to be injected.
    public static func conflict(_ method: String? = nil, count: Int = 1) -> Fault {
        Fault(.conflict, method, count: count)
    }

    /// The next requests are refused for want of room. Clients ask again by themselves, up to six times.
    /// - Parameters:
    ///   - method: whose requests; nil: all.
    ///   - count: how many.
    /// - Returns: the fault, to be injected.
    public static func overloaded(_ method: String? = nil, count: Int = 1) -> Fault {
        Fault(.overloaded, method, count: count)
    }

    fileprivate struct Parameters: Encodable, Sendable {
        let kind: String
        let method: String?
        let count: Int?
        let millis: Int64?
    }

    fileprivate var parameters: Parameters {
        // More than the daemon takes is refused there, by name.
        let millis = duration.map { Int64(max(1, min($0 / .milliseconds(1), 1e9))) }
        return Parameters(kind: kind.rawValue, method: method, count: count, millis: millis)
    }
}

/// A fault that has been injected.
public struct InjectedFault: Sendable {
    /// As `fault.list` has it.
    public let id: Int
    fileprivate let kind: Method.FaultKind
    fileprivate let kura: Kura

    /// Ends it; one that is over already stays so.
    public func clear() async throws(KuraError) {
        // The numbers of a daemon that has started anew begin again: another fault may have this one.
        let there: Listed = try await kura.call("fault.list", Nothing())
        guard there.faults.contains(where: { $0.id == id && $0.kind == kind.rawValue }) else { return }
        let _: Cleared = try await kura.call("fault.clear", ["id": id])
    }
}

private struct Injected: Decodable, Sendable { let id: Int }
private struct Listed: Decodable, Sendable {
    struct Fault: Decodable, Sendable { let id: Int, kind: String }
    let faults: [Fault]
}
private struct Cleared: Decodable, Sendable { let cleared: Int }

extension Kura {
    /// Has something go wrong at this client's daemon, which is one for tests: `inMemory`, `ephemeralDaemon`, `InMemoryDaemon`, `kurad --ephemeral`.
    ///
    /// The client has to be an administrator there. A fault strikes all clients of the daemon, this one as well.
    /// - Parameter fault: what.
    /// - Returns: the fault, to be cleared before its time.
    /// - Throws: `notSupported` at a daemon that keeps its data.
    @discardableResult
    public func inject(_ fault: Fault) async throws(KuraError) -> InjectedFault {
        let injected: Injected = try await call("fault.inject", fault.parameters)
        return InjectedFault(id: injected.id, kind: fault.kind, kura: self)
    }

    /// Ends all faults that are there.
    public func clearFaults() async throws(KuraError) {
        let _: Cleared = try await call("fault.clear", Nothing())
    }
}
