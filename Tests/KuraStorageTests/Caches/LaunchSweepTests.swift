import Testing

@testable import KuraStorage

/// A sweep for one application's start, and whose scopes are whose.
@Suite struct LaunchSweepTests {
    @Test func `scopes are an application's that have its name, or begin with it and a separator`() {
        let notes = ApplicationScopes(Array("notes".utf8))
        for name in ["notes", "notes.images", "notes/1", "notes:x", "notes-old", "notes."] {
            #expect(notes.contains(Array(name.utf8)), "\(name)")
        }
        for name in ["note", "notesx", "mynotes", "Notes", "", "notes_2"] {
            #expect(!notes.contains(Array(name.utf8)), "\(name)")
        }
    }

    @Test func `entries of its own namespaces go, and others stay until all are swept`() throws {
        let world = try CacheWorld()
        let (own, part, other) = (
            try world.namespace("notes"), try world.namespace("notes.parts"), try world.namespace("notesx")
        )
        // The first of its own has begun, and the next is not due.
        try world.turn { !world.models.sweepProgress.isRunning && world.models.sweep.nextAt > 0 }
        world.models.sweep.nextAt = .max
        for namespace in [own, part, other] {
            for key in 0..<3 {
                let stored = try with("", "k\(key)", "1") { (_, key, value) throws(EngineError) in
                    try world.models.put(namespace, key, value, ModelLifetime(ttl: 0, stale: 0))
                }
                #expect(stored == .stored)
            }
        }
        world.caches.sweep(of: ApplicationScopes(Array("notes".utf8)))
        #expect(world.caches.sweep.isRunning)
        try world.turn { !world.caches.sweep.isRunning }
        #expect(own.count == 0 && part.count == 0 && other.count == 3)
        #expect(world.caches.sweep.removed == 6)
        #expect(world.models.sweep.nextAt == .max)
        // A sweep of all that is under way is made anew instead.
        world.models.beginSweep()
        world.caches.sweep(of: ApplicationScopes(Array("notes".utf8)))
        #expect(world.models.sweep.isAgainWanted)
        try world.turn { !world.caches.sweep.isRunning }
        #expect(other.count == 0)
    }
}
