import KuraBytes

/// Holds changes against the conditions of live queries, on a thread of its own that yields to everybody else.
///
/// What a document of 8 MiB costs under 256 operators, or a thousand conditions under a burst of writes, is not the loop's to spend.
public typealias LiveMatcher = JobThread<LiveMatching, LiveOutcome>

/// A page of changes, and what it is to be held against.
public struct LiveMatching: Sendable {
    public var page: LivePage
    public var shapes: [LiveShape]
}

/// A page that has been held against some shapes.
public struct LiveOutcome: Sendable {
    public var page: LivePage
    public var matches: [LiveMatches]
}

extension LiveMatcher {
    /// - Parameter wake: called when a page has been held against its shapes.
    public convenience init(wake: @escaping @Sendable () -> Void) {
        self.init(name: "kura-live", wake: wake) { LiveOutcome(page: $0.page, matches: $0.page.match($0.shapes)) }
    }

    public func submit(_ page: LivePage, _ shapes: [LiveShape]) { submit(LiveMatching(page: page, shapes: shapes)) }
}
