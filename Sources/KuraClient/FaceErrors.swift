extension KuraError {
    /// What is stored cannot be read as the type that was asked for.
    /// - Parameters:
    ///   - place: which item: "document 7 of cards".
    ///   - type: the type that was asked for.
    ///   - cause: what is wrong with it.
    /// - Returns: an error of kind `wrongType`.
    static func mismatch(_ place: String, _ type: Any.Type, _ cause: KuraError) -> KuraError {
        KuraError(
            .wrongType, "\(place) is no \(type): \(cause.message)",
            advice:
                "Give the type what is stored (an optional for what older documents lack), or migrate the documents.")
    }

    static func unusableID(_ message: String) -> KuraError {
        KuraError(.invalidParams, message, advice: "Use a text, a number, or what is encoded as one of them.")
    }

    static func otherID(_ message: String) -> KuraError {
        KuraError(
            .invalidParams, message, advice: "Put it under its own id; delete the other document if it is to go.")
    }

    static var unsaved: KuraError {
        KuraError(
            .conflict, "some edits are not saved: others have changed the same, or the daemon refuses them",
            advice: "Say what is kept with `resolve`, or edit what was refused, then `flush()`.")
    }

    static var keepsChanging: KuraError {
        KuraError(.conflict, "the value has changed each time while it was edited", advice: "Do less in `update`.")
    }

    static func unknownField(_ message: String) -> KuraError {
        KuraError(.invalidParams, message, advice: "Nothing was asked for.")
    }

    /// Something is ordered by values that the daemon orders in another way.
    static func noOrder(_ type: Any.Type) -> KuraError {
        KuraError(
            .invalidParams, "a \(type) is stored as an object, which has no order",
            advice:
                "Order by a number or a text: store one in its place, or beside it. Nothing was asked for.")
    }

    static func badAnswer(_ method: String) -> KuraError {
        KuraError(.badReply, "the daemon's answer lacks what the protocol promises", method: method)
    }

    /// Where the next page of a list begins.
    /// - Parameters:
    ///   - cursor: as the page has it; nil at the end.
    ///   - last: what led to the page.
    ///   - method: what was called.
    /// - Returns: `cursor`.
    /// - Throws: `badReply` when it leads to the same page again, which would be asked for for ever.
    static func next(_ cursor: String?, after last: String?, _ method: String) throws(KuraError) -> String? {
        guard cursor == nil || cursor != last else {
            throw KuraError(.badReply, "a page of the daemon's list leads to itself", method: method)
        }
        return cursor
    }
}
