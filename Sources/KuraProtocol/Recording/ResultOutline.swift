public import KuraBytes

/// What a recording tells of a result beside what the daemon made up: how much was found, and no value. A replay holds its own results against it.
extension Method {
    /// Results of what a store keeps have one. Those that tell how the daemon is differ from one moment to the next.
    public var hasOutline: Bool { store.facts.keeping != nil }

    /// - Parameter result: its text, which has been checked.
    /// - Returns: for each member that counts its JSON text: how many elements a list or map has; the word or truth value itself; 1 for another member
    ///   that a result need not have.
    public func outline(of result: Bytes) -> [(name: String, value: [UInt8])] {
        var outline: [(name: String, value: [UInt8])] = []
        var walk = JSONWalk(result, storage: WalkStorage())
        while let (name, value) = walk.nextMember() {
            guard let field = self.result.first(where: { field in field.name.withBytes { $0.equals(name) } }),
                let text = field.outline(of: value)
            else { continue }
            outline.append((field.name, text))
        }
        return outline
    }
}

extension Field {
    /// Numbers that say how many there were; others are sizes, times and what the daemon has counted since its start.
    private static let amounts: Set = ["count", "deleted", "exported", "imported", "purged"]

    fileprivate func outline(of value: Bytes) -> [UInt8]? {
        switch (type, value.first) {
        case (.list, UInt8(ascii: "[")):
            var walk = JSONWalk(value, storage: WalkStorage())
            var count = 0
            while walk.nextElement() != nil { count += 1 }
            return Array("\(count)".utf8)
        case (.map, UInt8(ascii: "{")):
            var walk = JSONWalk(value, storage: WalkStorage())
            var count = 0
            while walk.nextMember() != nil { count += 1 }
            return Array("\(count)".utf8)
        case (.word, _): return Array(value)
        // One that need not be there says how far a work in the background is, or a disk.
        case (.boolean, _): return isRequired ? Array(value) : nil
        case (.integer, _) where Self.amounts.contains(name): return Array(value)
        default: return isRequired ? nil : Array("1".utf8)
        }
    }
}
