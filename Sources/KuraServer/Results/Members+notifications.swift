/// Members of notifications and of lines of the log, which no method's result has.
extension TextMember {
    static var event: Self { Self(",\"event\":") }
    static var jsonrpc: Self { Self(",\"jsonrpc\":") }
    static var level: Self { Self(",\"level\":") }
    static var prefix: Self { Self(",\"prefix\":") }
    static var tag: Self { Self(",\"tag\":") }
    static var unit: Self { Self(",\"unit\":") }
}

extension FlagMember {
    static var recovered: Self { Self(",\"recovered\":") }
    static var snapshot: Self { Self(",\"snapshot\":") }
    static var low: Self { Self(",\"low\":") }
    static var overBudget: Self { Self(",\"overBudget\":") }
}

extension MomentMember {
    static var time: Self { Self(",\"time\":") }
}

extension NumberMember {
    static var blobBytes: Self { Self(",\"blobBytes\":") }
    static var blobContents: Self { Self(",\"blobContents\":") }
    static var modelBytes: Self { Self(",\"modelBytes\":") }
    static var position: Self { Self(",\"position\":") }
    static var resyncRev: Self { Self(",\"resyncRev\":") }
}

extension ObjectMember {
    static var params: Self { Self(",\"params\":") }
}

extension AnyMember {
    static var result: Self { Self(",\"result\":") }
}
