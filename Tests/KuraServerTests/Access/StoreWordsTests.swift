import KuraProtocol
import Testing

@testable import KuraServer
@testable import KuraStorage

/// What the disk and the wire know of a store is declared apart.
@Suite struct StoreWordsTests {
    @Test func `a store's scopes and items are called the same on the disk and on the wire`() throws {
        for store in Store.published {
            let onTheWire = try #require(store.granted)
            #expect(onTheWire.rawValue == "\(store.described.name)")
            #expect(onTheWire.scopeWord == "\(store.described.scopeWord)", "\(store)")
            #expect(onTheWire.itemWord == "\(store.described.itemWord)", "\(store)")
        }
        #expect(Store.published.compactMap(\.granted?.rawValue).sorted() == Method.Store.durable.words.sorted())
        #expect(CacheStore.allCases.map { "\($0.name)" } == Method.Store.caches.words)
    }
}
