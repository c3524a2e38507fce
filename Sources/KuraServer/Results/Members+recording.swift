/// Members of a recording's lines, which no method's result has.
extension FlagMember {
    static var closed: Self { Self(",\"closed\":") }
}

extension NumberMember {
    static var atMicroseconds: Self { Self(",\"at\":") }
    static var connection: Self { Self(",\"connection\":") }
    static var recording: Self { Self(",\"recording\":") }
}

extension ObjectMember {
    static var descriptor: Self { Self(",\"descriptor\":") }
    static var end: Self { Self(",\"end\":") }
    static var minted: Self { Self(",\"minted\":") }
    static var outline: Self { Self(",\"outline\":") }
}

extension AnyMember {
    static var currentRev: Self { Self(",\"currentRev\":") }
    static var error: Self { Self(",\"error\":") }
    static var reply: Self { Self(",\"reply\":") }
    static var request: Self { Self(",\"request\":") }
}
