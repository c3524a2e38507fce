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
    /// The request, or the last operation of its transaction, only takes something away.
    private(set) var takesAway = false
    /// What leaves with the reply's first byte.
    private(set) var descriptor: PassedDescriptor?

    /// Nothing of the attempt before counts any more.
    mutating func begin(isAhead: Bool, replyAt start: Int, takesAway: Bool) {
        self.isAhead = isAhead
        keepsTurn = false
        isDeferred = false
        replyStart = start
        self.takesAway = takesAway
        dropDescriptor()
    }

    mutating func keepTurn() { keepsTurn = true }

    /// An operation of the request's transaction has been performed.
    mutating func performed(_ operation: Self) { takesAway = operation.takesAway }

    mutating func deferReply() { isDeferred = true }

    mutating func pass(_ descriptor: PassedDescriptor) { self.descriptor = descriptor }

    /// It is on its way, or nobody is to have it.
    mutating func dropDescriptor() {
        // Hardly ever there, and each request comes by here.
        if descriptor != nil { descriptor = nil }
    }
}
