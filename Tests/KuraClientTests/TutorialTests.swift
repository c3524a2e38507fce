import KuraClient
import KuraTesting
import Testing

extension SettingKey<String> { fileprivate static var theme: Self { SettingKey("theme", default: "light") } }
extension SettingKey<Int> { fileprivate static var launches: Self { SettingKey("launches", default: 0) } }

private struct Preferences {
    @Setting var theme: String
    init(_ mirror: SettingsMirror) { _theme = Setting(.theme, in: mirror) }
}

/// The code of GettingStarted.md.
@Suite struct TutorialTests {
    @Test func `getting started`() async throws {
        let kura = try await Kura.inMemory()

        let app = kura.settings["notes"]
        try await app.put(.theme, "dark")
        let launches = try await app.increment(.launches)
        #expect(launches == 1)

        let read = try await app.stored(.theme)
        try await app.put(.theme, "red")
        // A `do` with a `catch where` in the page; the compiler (6.3.1) does not survive it beside `#expect`.
        let told = await #expect(throws: KuraError.self) {
            try await app.put(.theme, read.value + "er", ifRev: read.rev)
        }
        #expect(told?.kind == .conflict)

        let mirror = try await app.mirror()
        let preferences = Preferences(mirror)
        let rev = try await app.put(.theme, "blue")
        try await mirror.refreshed(to: rev)
        #expect(preferences.theme == "blue")

        let changes = app.watch()
        try await app.put(.theme, "green")
        for try await event in changes {
            guard case .changes(let changes, _) = event else { continue }
            #expect(changes[0].key == "theme")
            #expect(changes[0].value?.description == "\"green\"")
            break
        }

        try await kura.secrets["mail"].put("ada", Secret(text: "correct horse"))
        let password = try await kura.secrets["mail"].get("ada")?.secret
        #expect(password?.text == "correct horse")
    }
}
