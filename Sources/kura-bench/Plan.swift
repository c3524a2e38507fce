/// What one generator is to send: a load's options brought down to one target and one process.
struct Plan {
    enum KeyOrder {
        case random
        /// 0, 1, 2 … : loads every key once.
        case ascending
    }

    var target: Target
    var options: LoadOptions
    var keyOrder = KeyOrder.random
    /// Distinguishes generators that run at once: their seeds and their values differ.
    var generator = 0
    /// Where each key's time is noted, for ascending keys.
    var sendTimes: SendTimes?

    init(target: Target, options: LoadOptions) {
        self.target = target
        self.options = options
    }

    /// Puts every key once, over eight connections, 64 requests deep.
    static func preload(target: Target, options: LoadOptions) -> Plan {
        var plan = Plan(target: target, options: options)
        plan.options.mix = .write
        plan.options.connections = 8
        plan.options.depth = 64
        plan.options.rate = 0
        plan.options.processes = 0
        plan.options.requests = options.keys
        plan.keyOrder = .ascending
        return plan
    }
}
