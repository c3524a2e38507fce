import Dispatch
import KuraClient
import Observation
import Synchronization
import Testing

/// What those are told who look at a live collection.
@Suite struct LiveObservationTests {
    /// Counts how often somebody is told who looks at a property again each time.
    private final class Watch: Sendable {
        private let state: Mutex<(told: Int, there: Int)> = Mutex((0, 0))
        var told: Int { state.withLock { $0.told } }
        /// How often it was on the main actor.
        var there: Int { state.withLock { $0.there } }

        init(_ look: @escaping @Sendable () -> Void) { again(look) }

        private func again(_ look: @escaping @Sendable () -> Void) {
            withObservationTracking(look) { [weak self] in
                guard let self else { return }
                let isThere = DispatchQueue.getSpecific(key: mainQueue) == true
                state.withLock { $0 = ($0.told + 1, $0.there + (isThere ? 1 : 0)) }
                again(look)
            }
        }
    }

    @Test(arguments: [false, true]) func `that the documents are read and that all is saved is told`(onMain: Bool)
        async throws
    {
        DispatchQueue.main.setSpecific(key: mainQueue, value: true)
        let daemon = try FaceDaemon()
        let kura = try await daemon.client()
        daemon.kill()
        let live = try kura.documents("cards", of: Card.self).live(
            saving: .every(.seconds(3600)), on: onMain ? MainActor.shared : nil)
        let (loading, saving) = (Watch { _ = live.isLoaded }, Watch { _ = live.isSaved })
        let isReady = Mutex(false)
        let spinner = Task {
            for await isLoaded in Observations({ live.isLoaded }) where isLoaded { isReady.withLock { $0 = true } }
        }
        try daemon.start()
        await live.loaded()
        try await eventually("a spinner ends on an empty collection") { loading.told == 1 && isReady.withLock { $0 } }
        #expect(live.isLoaded && live.isEmpty && live.count == 0 && !live.contains("a") && saving.told == 0)
        live.put(Card("a"))
        #expect(saving.told == 1 && !live.isSaved && live.contains("a") && live.count == 1 && !live.isEmpty)
        live.update("a") { $0.due = 1 }
        #expect(saving.told == 1, "nothing is saved as before")
        try await live.flush()
        try await eventually("that it is saved is told") { saving.told == 2 }
        #expect(live.isSaved && loading.told == 1)
        #expect(loading.there == (onMain ? 1 : 0) && saving.there == (onMain ? 1 : 0))
        spinner.cancel()
        await kura.close()
    }

    /// Who is told before there is something to see looks too early, and is told no more.
    @Test func `who follows on another thread sees the last edit`() async throws {
        let daemon = try await FaceDaemon(.inMemory)
        let kura = try await daemon.client()
        let live = try kura.documents("cards", of: Card.self).live(saving: .every(.seconds(3600)))
        await live.loaded()
        live.put(Card("a"))
        let seen = Mutex(-1)
        let follower = Task {
            for await due in Observations({ live["a"]?.due ?? 0 }) { seen.withLock { $0 = due } }
        }
        for due in 0..<200 {
            live.update("a") { $0.due = due }
            try await eventually("\(due) is seen", seconds: 30) { seen.withLock { $0 } == due }
        }
        follower.cancel()
        await kura.close()
    }
}

private let mainQueue = DispatchSpecificKey<Bool>()
