public import KuraBytes

/// JSON Merge Patch: an object whose members take the place of the document's, `null` taking them away. What it does not name
/// stays byte for byte and in its place; new members come at the end.
///
/// Source: RFC 7396, 2.
public enum MergePatch {
    /// Appends what the patch makes of `target`.
    /// `patch`: JSON that has been checked.
    /// `target`: nil when there is nothing yet.
    public static func apply(
        _ patch: StoredValue, to target: StoredValue?, into output: inout ByteBuffer, _ limits: PatchLimits
    ) throws(PatchFault) {
        let start = output.count
        var work = limits.work
        // Each part stands in the result at the level at which it stands in patch or document: it is no deeper than they.
        try merge(patch, target, &output, &work)
        guard output.count - start <= limits.resultBytes else { throw PatchFault(.tooLarge, pointer: []) }
    }

    private static func merge(
        _ patch: StoredValue, _ target: StoredValue?, _ output: inout ByteBuffer, _ work: inout Int
    ) throws(PatchFault) {
        guard patch.kind == .object else { return output.append(patch.text) }
        // A level passes over everything in it.
        work -= patch.text.count + (target?.text.count ?? 0)
        guard work >= 0 else { throw PatchFault(.tooMuchWork, pointer: []) }
        var changes = MemberIndex(patch)
        var isFirst = true
        output.append(UInt8(ascii: "{"))
        if let target {
            for member in target.members {
                guard let change = changes.take(member.name) else {
                    output.append(name: member.name, isFirst: &isFirst)
                    output.append(member.value.text)
                    continue
                }
                guard change.kind != .null else { continue }
                output.append(name: member.name, isFirst: &isFirst)
                try merge(change, member.value, &output, &work)
            }
        }
        for member in changes.rest where member.value.kind != .null {
            output.append(name: member.name, isFirst: &isFirst)
            try merge(member.value, nil, &output, &work)
        }
        output.append(UInt8(ascii: "}"))
    }
}

extension ByteBuffer {
    /// A member's name and colon, with a comma before all but the first.
    fileprivate mutating func append(name quoted: Bytes, isFirst: inout Bool) {
        append(isFirst ? "\"" : ",\"")
        isFirst = false
        append(quoted)
        append("\":")
    }
}

/// An object's members, to be taken out by their names, whatever their number in about the same time.
private struct MemberIndex {
    private let members: [StoredValue.Member]
    private var isTaken: [Bool]
    /// Positions by the names' hashes, open addressing; none for a few members, which are looked through.
    private var slots: [Int32] = []
    private static let few = 8

    init(_ object: StoredValue) {
        members = Array(object.members)
        isTaken = [Bool](repeating: false, count: members.count)
        guard members.count > Self.few else { return }
        var size = 32
        while size < members.count * 2 { size *= 2 }
        slots = [Int32](repeating: -1, count: size)
        for position in members.indices {
            var slot = Self.hash(members[position].name) & (size - 1)
            while slots[slot] >= 0 { slot = (slot + 1) & (size - 1) }
            slots[slot] = Int32(position)
        }
    }

    /// The value of the member of that name, once.
    mutating func take(_ name: Bytes) -> StoredValue? {
        guard let position = find(name), !isTaken[position] else { return nil }
        isTaken[position] = true
        return members[position].value
    }

    /// Members that nobody has taken, in their order.
    var rest: [StoredValue.Member] {
        members.indices.lazy.filter { !isTaken[$0] }.map { members[$0] }
    }

    private func find(_ name: Bytes) -> Int? {
        guard !slots.isEmpty else {
            return members.firstIndex { ResolvedText.order($0.name, name) == 0 }
        }
        var slot = Self.hash(name) & (slots.count - 1)
        while slots[slot] >= 0 {
            let position = Int(slots[slot])
            if ResolvedText.order(members[position].name, name) == 0 { return position }
            slot = (slot + 1) & (slots.count - 1)
        }
        return nil
    }

    private static func hash(_ quoted: Bytes) -> Int {
        guard quoted.contains(UInt8(ascii: "\\")) else {
            return Int(truncatingIfNeeded: Hash.bytes(quoted, seed: seed))
        }
        return ResolvedText.bytes(quoted).withBytes { Int(truncatingIfNeeded: Hash.bytes($0, seed: seed)) }
    }

    /// Chosen at the start, so that nobody can send names that all meet in one slot.
    private static let seed = UInt64.random(in: .min ... .max)
}
