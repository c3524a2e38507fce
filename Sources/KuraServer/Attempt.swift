import KuraSocket

/// One attempt to answer a request. It ends with the reply or with a wait; when the wait is over, another attempt begins.
struct Attempt {
    /// Another request of the connection waits, and this one is answered before it.
    private(set) var isAhead = false
    /// What the request has changed is not undone with the turn.
    private(set) var keepsTurn = false
    /// The reply comes later, from somewhere else.
    private(set) var isDeferred = false
    /// Where in the output the reply begins.
    private(set) var replyStart = 0
    /// What leaves with the reply's first byte.
    private(set) var descriptor: PassedDescriptor?

    /// Nothing of the attempt before counts any more.
    mutating func begin(isAhead: Bool, replyAt start: Int) {
        self.isAhead = isAhead
        keepsTurn = false
        isDeferred = false
        replyStart = start
        dropDescriptor()
    }

    mutating func keepTurn() { keepsTurn = true }

    mutating func deferReply() { isDeferred = true }

    mutating func pass(_ descriptor: PassedDescriptor) { self.descriptor = descriptor }

    /// It is on its way, or nobody is to have it.
    mutating func dropDescriptor() {
        // Hardly ever there, and each request comes by here.
        if descriptor != nil { descriptor = nil }
    }
}
