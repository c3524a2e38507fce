@testable import KuraProtocol
import Testing

@Suite struct JSONTreeTests {
    private let text = #"{"a":[1,-2.50e+3,{}],"b":{"c":null,"d":true,"e\"":"f\n"},"g":[],"h":"蔵"}"#

    @Test func `a text that is read and written again is the same text`() {
        #expect(String(decoding: JSONTree(checked: text).compact(), as: UTF8.self) == text)
    }

    @Test func `the pretty text has two spaces a level and one newline at its end`() {
        let expected = """
            {
              "a": [
                1,
                -2.50e+3,
                {}
              ],
              "b": {
                "c": null,
                "d": true,
                "e\\"": "f\\n"
              },
              "g": [],
              "h": "蔵"
            }

            """
        let pretty = JSONTree(checked: text).pretty()
        #expect(String(decoding: pretty, as: UTF8.self) == expected)
        #expect(String(decoding: compacted(pretty), as: UTF8.self) == text)
    }
}
