extension ServerLimits {
    /// The limits as this process can keep them.
    ///
    /// `descriptors`: that it may have open. 64 are for the storage's files, an eighth at most for those that clients pass; the
    /// rest bounds the connections.
    /// `memory`: bytes that it may use. A quarter bounds all buffers, a quarter of that the longest line,
    /// a fifth the longest reply, and what one connection may leave waiting is a sixteenth.
    func fitted(descriptors: Int, memory: Int) -> ServerLimits {
        var limits = self
        limits.passedDescriptors = max(8, min(descriptors / 8, passedDescriptors))
        limits.connections = min(connections, max(1, descriptors - 64 - limits.passedDescriptors))
        limits.bufferBytes = BufferBudget.bound(memory: memory, configured: bufferBytes)
        // A buffer may have a quarter too much, and everything that is not ordinary is for one reply.
        limits.replyBytes = min(replyBytes, limits.bufferBytes / 5)
        limits.outputBytes = min(outputBytes, limits.bufferBytes / 16)
        limits.inputBytes = min(inputBytes, limits.bufferBytes / 16)
        limits.lineBytes = min(lineBytes, max(1024, limits.bufferBytes / 4))
        return limits
    }

    /// Descriptors that may be open at once: of clients, passed by them, and of our own.
    var mostDescriptors: Int { connections + 2 * passedDescriptors + 512 }
}
