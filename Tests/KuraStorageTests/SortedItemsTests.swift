import KuraBytes
import Testing

@testable import KuraStorage

@Suite struct SortedItemsTests {
    private func listed(_ items: SortedItems, from key: String = "") -> [String] {
        var position = with(key) { items.lowerBound(of: $0) }
        var found: [String] = []
        while let item = items[position] {
            found.append(item.key.text)
            items.advance(&position)
        }
        return found
    }

    @Test(arguments: [0, 1, 3000]) func `items stay in order however they come and go`(count: Int) {
        var random = SplitMix(state: UInt64(count))
        var model: [String: ItemRef] = [:]
        func item(_ key: String) -> ItemRef { with(key, "v") { ItemRef.make(key: $0, value: $1) } }
        func key() -> String { String(Int.random(in: 0..<6000, using: &random), radix: 36) }
        for _ in 0..<count { model[key()] = item(key()) }
        model = Dictionary(uniqueKeysWithValues: model.keys.map { ($0, item($0)) })
        var items = SortedItems(Array(model.values))
        for step in 0..<20_000 {
            let key = key()
            let new = item(key)
            switch (model[key], Int.random(in: 0..<(step < 10_000 ? 3 : 8), using: &random)) {
            case (nil, 0...2):
                items.insert(new)
                model[key] = new
            case (.some, 0):
                items.replace(with: new)
                model[key] = new
            case (.some, _):
                with(key) { items.remove($0) }
                model[key] = nil
            default: break
            }
            guard step % 1000 == 0 else { continue }
            let expected = model.keys.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
            #expect(listed(items) == expected)
            let bound = self.key(expected, step)
            #expect(
                listed(items, from: bound) == expected.filter { !$0.utf8.lexicographicallyPrecedes(bound.utf8) })
            // They are the newest ones.
            for (key, item) in model { #expect(with(key) { items[items.lowerBound(of: $0)] } == item) }
        }
        for key in model.keys { with(key) { items.remove($0) } }
        #expect(listed(items).isEmpty)
    }

    /// A key that is there, or one between two.
    private func key(_ keys: [String], _ step: Int) -> String {
        keys.isEmpty ? "x" : keys[step % keys.count] + (step % 3 == 0 ? "" : "!")
    }
}
