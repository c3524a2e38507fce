public import KuraBytes

/// The names of the top-level members in which two versions of a document differ: JSON strings without escapes, with commas between them.
///
/// Members are compared by their text, so a number that is written in another way counts as changed. Names that stand more than once are
/// compared one by one. The list says nothing of the order of members.
public struct ChangedMembers: Sequence {
    /// Most bytes of a list, `WireLimits.changedMembersBytes`; a change of more members has none.
    public static let limit = 1024
    /// Most members that are compared where the two versions do not have the same names in the same order.
    private static let mostCompared = 64
    /// Documents from so many bytes on are not gone through behind their last difference.
    private static let long = 4096

    public let text: Bytes

    /// - Parameter text: a list that `append` has made, or that `isList` accepts.
    public init(_ text: Bytes) {
        self.text = text
    }

    // MARK: Making

    /// Appends the list of what differs.
    /// - Parameters: two documents without white space between their tokens.
    /// - Returns: false, and nothing is appended, where no list can be made: one of them is no object, a name that matters has escapes, or too
    ///   many members differ.
    public static func append(from old: Bytes, to new: Bytes, into list: inout ByteBuffer) -> Bool {
        guard old.first == UInt8(ascii: "{"), new.first == UInt8(ascii: "{") else { return false }
        let start = list.count
        var comparison = Comparison(old, new, start)
        if comparison.compareInOrder(&list), comparison.compareRest(&list), list.count - start <= limit { return true }
        list.truncate(to: start)
        return false
    }

    /// Two documents, as far as they have been gone through.
    private struct Comparison {
        let old: Bytes
        let new: Bytes
        let start: Int
        /// Bytes at the end that are the same in both; looked for in long documents only.
        let behind: Int
        /// Where the next member begins, or behind the last one.
        var oldAt = 1
        var newAt = 1

        init(_ old: Bytes, _ new: Bytes, _ start: Int) {
            (self.old, self.new, self.start) = (old, new, start)
            behind = new.count < ChangedMembers.long ? 0 : old.commonSuffix(new, from: 0, 0)
        }

        /// Goes through both as long as they have the same names in the same order.
        /// - Returns: false where no list can be made.
        mutating func compareInOrder(_ list: inout ByteBuffer) -> Bool {
            while let member = StoredValue.memberEnds(new, newAt) {
                // The same with what stands behind it, so that neither goes on where the other ends.
                let length = member.end + 1 - newAt
                if member.end < new.count, length <= old.count - oldAt,
                    new.extracting(newAt..<member.end + 1).equals(old.extracting(oldAt..<oldAt + length))
                {
                    (oldAt, newAt) = (oldAt + length, newAt + length)
                    continue
                }
                if new.count - newAt <= behind, old.count - oldAt == new.count - newAt {
                    (oldAt, newAt) = (old.count, new.count)
                    return true
                }
                guard let counterpart = StoredValue.memberEnds(old, oldAt),
                    old.extracting(oldAt..<counterpart.nameEnd).equals(new.extracting(newAt..<member.nameEnd))
                else { return true }
                let isSame = old.extracting(counterpart.nameEnd..<counterpart.end)
                    .equals(new.extracting(member.nameEnd..<member.end))
                if !isSame, !add(new.extracting(newAt..<member.nameEnd), &list) { return false }
                (oldAt, newAt) = (counterpart.end + 1, member.end + 1)
            }
            return true
        }

        /// Compares what is left by name.
        mutating func compareRest(_ list: inout ByteBuffer) -> Bool {
            guard var left = take(old, oldAt), let others = take(new, newAt) else { return false }
            for other in others {
                guard let place = left.firstIndex(where: { $0.name.equals(other.name) }) else {
                    guard add(other.name, &list) else { return false }
                    continue
                }
                guard left.remove(at: place).value.equals(other.value) || add(other.name, &list) else { return false }
            }
            return left.allSatisfy { add($0.name, &list) }
        }

        private func take(_ text: Bytes, _ start: Int) -> ContiguousArray<(name: Bytes, value: Bytes)>? {
            var found: ContiguousArray<(name: Bytes, value: Bytes)> = []
            var at = start
            while let member = StoredValue.memberEnds(text, at) {
                let name = text.extracting(at..<member.nameEnd)
                // Another spelling of a name would not be found by its bytes.
                guard found.count < mostCompared, !name.contains(UInt8(ascii: "\\")) else { return nil }
                found.append((name, text.extracting(member.nameEnd..<member.end)))
                at = member.end + 1
            }
            return found
        }

        private func add(_ name: Bytes, _ list: inout ByteBuffer) -> Bool {
            guard !name.contains(UInt8(ascii: "\\")), list.count - start + name.count <= limit else { return false }
            guard !ChangedMembers(list.bytes(start..<list.count)).contains(name) else { return true }
            if list.count > start { list.append(UInt8(ascii: ",")) }
            list.append(name)
            return true
        }
    }

    // MARK: Reading

    /// Whether UTF-8 from elsewhere is such a list.
    public static func isList(_ bytes: Bytes) -> Bool {
        guard bytes.count <= limit else { return false }
        var at = 0
        while at < bytes.count {
            guard bytes[at] == UInt8(ascii: "\"") else { return false }
            let end = StoredValue.endOfString(bytes, at)
            let name = bytes.extracting(at + 1..<Swift.max(end - 1, at + 1))
            guard end - at >= 2, bytes[end - 1] == UInt8(ascii: "\""), !name.contains(UInt8(ascii: "\\")),
                !name.contains(where: { $0 < 0x20 })
            else { return false }
            at = end
            if at < bytes.count {
                guard bytes[at] == UInt8(ascii: ","), at + 1 < bytes.count else { return false }
                at += 1
            }
        }
        return true
    }

    /// The names with their quotes.
    public struct Iterator: IteratorProtocol {
        fileprivate let text: Bytes
        fileprivate var at = 0

        public mutating func next() -> Bytes? {
            guard at < text.count else { return nil }
            let end = StoredValue.endOfString(text, at)
            defer { at = end + 1 }
            return text.extracting(at..<end)
        }
    }

    public func makeIterator() -> Iterator { Iterator(text: text) }

    /// Whether the name, which comes with its quotes, is listed.
    public func contains(_ name: Bytes) -> Bool {
        for own in self where own.equals(name) { return true }
        return false
    }

    /// Appends the names of another list that are not in the one that the buffer has from `start` to its end.
    public static func merge(_ other: ChangedMembers, into list: inout ByteBuffer, from start: Int) {
        for name in other where !ChangedMembers(list.bytes(start..<list.count)).contains(name) {
            if list.count > start { list.append(UInt8(ascii: ",")) }
            list.append(name)
        }
    }
}

extension StoredValue {
    /// Where a member's name ends, behind its closing quote, and where its value ends; nil where no member begins.
    fileprivate static func memberEnds(_ text: Bytes, _ start: Int) -> (nameEnd: Int, end: Int)? {
        guard start < text.count, text[start] == UInt8(ascii: "\"") else { return nil }
        let nameEnd = endOfString(text, start)
        let end = end(text, nameEnd + 1)
        guard end <= text.count, nameEnd < end else { return nil }
        return (nameEnd, end)
    }
}
