import KuraClient
import Testing

@Suite struct SpellingTests {
    @Test(arguments: [
        ("", "", 0), ("", "abc", 3), ("abc", "", 3), ("kitten", "sitting", 3), ("settings.get", "setings.get", 1),
        ("settings.gte", "settings.get", 1), ("flaw", "lawn", 2), ("ca", "abc", 3), ("put", "put", 0),
    ])
    func `the distance counts insertions, removals, replacements and swaps`(
        _ left: String, _ right: String, _ distance: Int
    ) {
        #expect(Spelling.distance(left, right) == distance)
        #expect(Spelling.distance(right, left) == distance)
    }

    @Test func `the nearest word is found, letters' case aside, and a far one is not offered`() {
        let words = ["settings.get", "settings.put", "documents.get", "documents.getMany"]
        #expect(Spelling.nearest(to: "setting.get", among: words) == "settings.get")
        #expect(Spelling.nearest(to: "documents.getmany", among: words) == "documents.getMany")
        #expect(Spelling.nearest(to: "storage", among: words) == nil)
        #expect(Spelling.nearest(to: "x", among: []) == nil)
    }
}
