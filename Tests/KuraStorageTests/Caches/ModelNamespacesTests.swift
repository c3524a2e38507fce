import KuraBytes
import Testing

@testable import KuraStorage

@Suite struct ModelNamespacesTests {
    private let places = CachePlaces()
    private let namespaces: ModelNamespaces

    init() { namespaces = ModelNamespaces(places) }

    @discardableResult
    private func add(_ name: String, bytes: Int = 0) -> ModelNamespace {
        let number = namespaces.nextNumber { _ in false }
        let made = namespaces.add(number: number, Array(name.utf8), ModelConfiguration())
        if bytes > 0 { made.order.insert(number, bytes: bytes, limit: 1 << 20) }
        return made
    }

    private func has(_ name: String) -> Bool { with(name) { namespaces.find($0) } != nil }

    @Test func `the number of one that is gone is given out again, unless somebody has a token of it`() {
        let (first, second) = (add("a"), add("b"))
        #expect(first.number == 1 && second.number == 2 && namespaces.count == 2)
        namespaces.forget(first)
        #expect(!has("a") && has("b") && namespaces[1] == nil)
        #expect(namespaces.nextNumber { $0 == 1 } == 3)
        #expect(add("c").number == 1)
        #expect(namespaces.named.map(\.name) == [Array("b".utf8), Array("c".utf8)])
    }

    @Test func `a scratch one loses its name with its last holder, and goes when it is empty`() {
        let scratch = add("s")
        scratch.configuration.isScratch = true
        for owner: UInt64 in [7, 7, 8] { namespaces.hold(scratch, by: owner) }
        namespaces.release(7)
        #expect(has("s") && scratch.holders == 1)
        namespaces.release(8)
        #expect(!has("s") && namespaces.leaving == [scratch.number] && namespaces.named.isEmpty)
        #expect(!namespaces.forgetLeaving { _ in false } && namespaces[scratch.number] != nil)
        #expect(namespaces.forgetLeaving { _ in true } && namespaces[scratch.number] == nil)
    }

    @Test func `one that has most is found, and nobody who has nothing where somebody has`() {
        #expect(namespaces.findLarge() == nil)
        add("empty")
        let (small, large) = (add("small", bytes: 10), add("large", bytes: 30))
        #expect(namespaces.findLarge() === large)
        large.order.remove(large.number)
        #expect(namespaces.findLarge() === small)
    }
}
