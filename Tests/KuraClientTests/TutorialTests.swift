import KuraClient
import KuraTesting
import Testing

// snippet: GettingStarted.keys
extension SettingKey<String> { static var theme: Self { SettingKey("theme", default: "light") } }
extension SettingKey<Int> { static var launches: Self { SettingKey("launches", default: 0) } }
// end

/// The code of GettingStarted.md: `scripts/check snippets` holds the two together.
@Suite struct TutorialTests {
    // snippet: GettingStarted.preferences
    struct Preferences {
        @Setting var theme: String
        init(_ mirror: SettingsMirror) { _theme = Setting(.theme, in: mirror) }
    }
    // end

    /// Compiled, and not run: it would find a daemon of somebody's.
    private func connect() async throws -> Kura {
        // snippet: GettingStarted.connect
        let kura = try await Kura.connect(options: ConnectOptions(name: "notes", version: "1.0"))
        // end
        return kura
    }

    /// By itself: the compiler (6.3.1) does not survive a `catch` with `where` beside `#expect`.
    /// - Returns: whether somebody was faster.
    private func lengthen(_ app: DomainSettings, meanwhile: () async throws -> Void) async throws -> Bool {
        // snippet: GettingStarted.conditional
        let read = try await app.stored(.theme)
        // end
        try await meanwhile()
        // snippet: GettingStarted.conditional
        do {
            try await app.put(.theme, read.value + "er", ifRev: read.rev)
        } catch let error where error.kind == .conflict {
            // Read again, and decide.
            // end
            return true
            // snippet: GettingStarted.conditional
        }
        // end
        return false
    }

    @Test func `getting started`() async throws {
        // snippet: GettingStarted.test
        let kura = try await Kura.inMemory()
        // end

        // snippet: GettingStarted.settings
        let app = kura.settings["notes"]
        try await app.put(.theme, "dark")
        let launches = try await app.increment(.launches)
        // end
        #expect(launches == 1)

        let isBeaten = try await lengthen(app) { try await app.put(.theme, "red") }
        #expect(isBeaten)
        let isBeatenByNobody = try await lengthen(app) {}
        #expect(!isBeatenByNobody)
        #expect(try await app.get(.theme) == "reder")

        // snippet: GettingStarted.mirror
        let mirror = try await app.mirror()
        let preferences = Preferences(mirror)
        let rev = try await app.put(.theme, "blue")
        try await mirror.refreshed(to: rev)
        print(preferences.theme)
        // end
        #expect(preferences.theme == "blue")

        // snippet: GettingStarted.changes
        let changes = app.watch()
        try await app.put(.theme, "green")
        for try await event in changes {
            guard case .changes(let changes, _) = event else { continue }
            print(changes[0].key ?? "", changes[0].value ?? .null)
            // end
            #expect(changes[0].key == "theme")
            #expect(changes[0].value?.description == "\"green\"")
            // snippet: GettingStarted.changes
            break
        }
        // end

        // snippet: GettingStarted.secrets
        try await kura.secrets["mail"].put("ada", Secret(text: "correct horse"))
        let password = try await kura.secrets["mail"].get("ada")?.secret
        // end
        #expect(password?.text == "correct horse")

        // snippet: GettingStarted.timeouts
        let patient = kura.with(timeout: .seconds(120))
        let theme = try await patient.settings["notes"].get(.theme)
        let cover = try await kura.blobs["covers"].with(timeout: .seconds(60)).stat("1")
        // end
        #expect(theme == "green" && cover == nil)
    }
}
