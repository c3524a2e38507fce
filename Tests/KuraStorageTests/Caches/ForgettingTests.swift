import KuraBytes
import SQLite
import Testing

@testable import KuraStorage

/// What sweeps forget besides entries: marks, tags and names that nobody needs any more, whoever fetches something meanwhile.
@Suite struct ForgettingTests {
    private let world: CacheWorld

    init() throws { world = try CacheWorld() }

    private func claim(_ namespace: ModelNamespace, _ key: String = "k") {
        let subject = CacheClaims.Subject(
            room: CacheStore.models.rawValue, scope: namespace.number, key: Array(key.utf8))
        #expect(world.caches.claims.claim(subject, owner: 1, lease: nil, since: world.models.moment, now: 0) != nil)
    }

    private func sweep() throws {
        for _ in 0..<2 {
            world.models.beginSweep()
            try world.turn { !world.models.sweepProgress.isRunning }
        }
    }

    @Test func `tags that no entry has are forgotten, though somebody holds a claim`() throws {
        let namespace = try world.namespace()
        try world.put(namespace, "k")
        claim(namespace)
        for number in 0..<ModelTags.limit { with("t\(number)") { #expect(namespace.tag($0) != nil) } }
        #expect(with("more") { namespace.tag($0) } == nil)
        try sweep()
        #expect(with("more") { namespace.tag($0) } != nil)
    }

    @Test func `whoever began before a mark that is forgotten is late all the same`() throws {
        for way in ["tag", "prefix"] {
            let namespace = try world.namespace(way)
            try world.put(namespace, "other")
            claim(namespace)
            let since = world.models.moment
            with("x") { name in
                if way == "tag" {
                    world.models.invalidate(namespace, tag: name, .stale)
                } else {
                    world.models.invalidate(namespace, prefix: name, .stale)
                }
            }
            let later = world.models.moment
            try sweep()
            #expect(with("x") { namespace.marks.tags.known($0) } == nil && namespace.marks.prefixes.isEmpty)
            with("x1") { key in
                #expect(world.models.isInvalidated(namespace, key, tags: Bytes(), since: since), "\(way)")
                #expect(!world.models.isInvalidated(namespace, key, tags: Bytes(), since: later), "\(way)")
            }
        }
    }

    @Test func `a namespace that nobody uses goes with a sweep, and another one may have its number`() throws {
        let (empty, claimed, configured) = (
            try world.namespace("empty"), try world.namespace("claimed"), try world.namespace("configured")
        )
        try world.put(empty, "k")
        with("k") { #expect(world.models.delete(empty, $0)) }
        claim(claimed)
        var wanted = configured.configuration
        wanted.ttl = 60
        world.models.configure(configured, wanted)
        try sweep()
        #expect(!world.has("empty") && world.has("claimed") && world.has("configured"))
        #expect(try world.namespace("next").number == empty.number)
        #expect(world.caches.claims.leave(1, since: 0, now: 0).isEmpty)
        try sweep()
        #expect(!world.has("claimed") && !world.has("next") && world.has("configured"))
    }

    @Test func `a number that a claim is about is nobody else's`() throws {
        let namespace = try world.namespace("scratch")
        var wanted = namespace.configuration
        wanted.isScratch = true
        world.models.configure(namespace, wanted)
        world.models.hold(namespace, by: 7)
        claim(namespace)
        world.models.release(7)
        try world.turn { world.models.namespaces.leaving.isEmpty }
        #expect(try world.namespace("next").number != namespace.number)
    }
}
