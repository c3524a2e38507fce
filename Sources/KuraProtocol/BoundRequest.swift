public import KuraBytes

/// How a request was read, without its bytes: a request that waits goes on with it, and is not read again.
public struct BoundRequest: Sendable {
    fileprivate let methodIndex: Int
    fileprivate let id: JSONValue
    fileprivate let hasID: Bool
    fileprivate let present: UInt32
    fileprivate let slots: [RequestReader.Slot]
}

extension RequestReader {
    /// The request that was read last, to be put aside.
    public var boundRequest: BoundRequest {
        BoundRequest(
            methodIndex: methodIndex, id: state.pointee.id, hasID: hasID, present: state.pointee.present,
            slots: (0..<table.entries[methodIndex].parameterCount).map { slots[$0] })
    }

    /// Takes a request up that was put aside.
    /// `text`: the line, or the batch's line, that it was read from; it may lie elsewhere by now.
    public func resume(_ request: BoundRequest, in text: Bytes) {
        reset(text)
        state.pointee.methodIndex = request.methodIndex
        state.pointee.id = request.id
        state.pointee.hasID = request.hasID
        state.pointee.present = request.present
        for (position, slot) in request.slots.enumerated() where has(position) {
            slots[position] = slot
            if slot.string.hasEscapes { _ = scratch[position].unescape(bytes(slot.string)) }
        }
    }
}
