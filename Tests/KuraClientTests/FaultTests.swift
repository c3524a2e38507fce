import KuraClient
import KuraTesting
import Testing

/// Faults as an application's test injects them, at a daemon within the process and at one of its own.
@Suite struct FaultTests {
    static let theme = SettingKey("theme", default: "light")

    enum Place: CaseIterable {
        case inMemory, process

        func connect() async throws -> Kura {
            switch self {
            case .inMemory: try await Kura.inMemory()
            case .process: try await Kura.ephemeralDaemon(memory: true)
            }
        }
    }

    @Test(arguments: Place.allCases)
    func `a full disk refuses a write until the fault is cleared`(place: Place) async throws {
        let kura = try await place.connect()
        let full = try await kura.inject(.full)
        let refused = await #expect(throws: KuraError.self) { try await kura.settings["app"].put(Self.theme, "dark") }
        #expect(refused?.kind == .noSpace)
        try await full.clear()
        try await kura.settings["app"].put(Self.theme, "dark")
        #expect(try await kura.settings["app"].get(Self.theme) == "dark")
        await kura.close()
    }

    @Test(arguments: Place.allCases)
    func `a conflict is met by the next write with a condition, and by no other`(place: Place) async throws {
        let kura = try await place.connect()
        let rev = try await kura.settings["app"].put(Self.theme, "dark")
        try await kura.inject(.conflict("settings.put"))
        try await kura.settings["app"].put(SettingKey("size", default: 0), 3)
        let refused = await #expect(throws: KuraError.self) {
            try await kura.settings["app"].put(Self.theme, "blue", ifRev: rev)
        }
        #expect(refused?.kind == .conflict && refused?.currentRev == rev)
        try await kura.settings["app"].put(Self.theme, "blue", ifRev: rev)
        await kura.close()
    }

    @Test(arguments: Place.allCases, [Fault.powerCut, .gone(for: .milliseconds(100)), .failingSync])
    func `a client's writes are there when the daemon is again`(place: Place, fault: Fault) async throws {
        let kura = try await place.connect()
        try await kura.settings["app"].put(Self.theme, "dark")
        try await kura.inject(fault)
        // Sent again, under its key, until it is answered.
        for _ in 0..<3 { try await kura.settings["app"].increment(SettingKey("count", default: 0)) }
        #expect(try await kura.settings["app"].get(SettingKey("count", default: 0)) == 3)
        #expect(try await kura.settings["app"].get(Self.theme) == "dark")
        await kura.close()
    }

    @Test(arguments: Place.allCases, [Fault.powerCut, .gone(for: .milliseconds(100))])
    func `faults are injected and cleared behind one that ends connections`(place: Place, fault: Fault) async throws {
        let kura = try await place.connect()
        for _ in 0..<3 {
            let full = try await kura.inject(.full)
            try await kura.inject(fault)
            let conflict = try await kura.inject(.conflict("settings.put"))
            try await full.clear()
            let rev = try await kura.settings["app"].put(Self.theme, "dark")
            // It may have got the number of the one that has gone with the daemon.
            await #expect(throws: KuraError.self) { try await kura.settings["app"].put(Self.theme, "blue", ifRev: rev) }
            try await kura.inject(fault)
            try await conflict.clear()
        }
        await kura.close()
    }

    @Test func `a test says what goes wrong, and sees what comes of it`() async throws {
        // snippet: Faults.inject
        let kura = try await Kura.inMemory()
        let rev = try await kura.settings["app"].put(Self.theme, "dark")
        let full = try await kura.inject(.full)
        await #expect(throws: KuraError.self) { try await kura.settings["app"].put(Self.theme, "blue") }
        try await full.clear()
        try await kura.inject(.conflict("settings.put"))
        await #expect(throws: KuraError.self) { try await kura.settings["app"].put(Self.theme, "blue", ifRev: rev) }
        try await kura.inject(.gone(for: .milliseconds(100)))
        _ = try await kura.settings["app"].get(Self.theme)  // waits until the daemon is there again
        // end
        await kura.close()
    }

    @Test func `what is slow for one is slow for it alone`() async throws {
        let kura = try await Kura.inMemory()
        try await kura.inject(.slow(by: .milliseconds(300), "settings.get", count: 1))
        let begun = ContinuousClock.now
        async let slow = kura.settings["app"].get(Self.theme)
        #expect(try await slow == "light")
        #expect(ContinuousClock.now - begun >= .milliseconds(300))
        try await kura.clearFaults()
        await kura.close()
    }
}
