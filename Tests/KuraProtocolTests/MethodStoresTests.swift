import Testing

@testable import KuraProtocol

/// What is written out of the stores fits those that there are.
@Suite struct MethodStoresTests {
    @Test func `hints name the stores that there are`() {
        let (durable, caches) = (Method.Store.durable.words, Method.Store.caches + [.storage])
        #expect("\(Method.Store.feedHint)" == "stores are \(durable.listed())")
        #expect("\(Method.Store.feedAndCachesHint)" == "\(Method.Store.feedHint), or caches: \(caches.words.listed())")
        #expect("\(Method.Store.cachesHint)".hasPrefix("\(caches.words.listed()) are watched apart"))
        #expect(
            "\(Method.Store.backupHint)"
                == "\(durable.joinedByCommas), or a scope such as documents/notes; secrets go all together")
        #expect(
            "\(Method.Store.bundleHint)"
                == "\(Method.Store.bundled.words.joinedByCommas), or a scope such as documents/notes")
    }

    @Test func `a store's methods are those of its name, but for the storage's`() {
        for store in Method.Store.allCases where store != .storage && store != .backups {
            #expect(store.methods.allSatisfy { $0.name.hasPrefix("\(store.rawValue).") && $0.store == store })
        }
    }

    @Test(arguments: [(["a"], "a"), (["a", "b"], "a or b"), (["a", "b", "c"], "a, b or c")])
    func `words are listed as sentences have them`(_ words: [String], _ text: String) {
        #expect(words.listed("or") == text)
    }
}
