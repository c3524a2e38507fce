import KuraBytes
import Testing

@testable import KuraCommand

@Suite struct PropertyListTests {
    /// What Python's plistlib makes of the values below and of what JSON cannot say.
    private static let binary = """
        YnBsaXN0MDDcAQIDBAUGBwgJCgsMDQ4PEBESExQVGxwdVVRoZW1lVFNpemVTQmlnU05lZ1VSYXRpb1JPblRXaGVuU1Jhd1RMaXN0U1VpZFNJbmZUTG9uZ1RkYXJr\
        EAwUAAAAAAAAAACAAAAAAAAAABP/////////+yM/0AAAAAAAAAkzQceDtpKAAABCAAGjFhcYEAFiAOll5dEZGlFhCIADI3/wAAAAAAAAXxAUeHh4eHh4eHh4eHh4\
        eHh4eHh4eHgIIScsMDQ6PUJGS09TWF1fcHmCg4yPk5WanZ+goqsAAAAAAAABAQAAAAAAAAAeAAAAAAAAAAAAAAAAAAAAwg==
        """

    private static let xml = """
        <?xml version="1.0" encoding="UTF-8"?>
        <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
        <plist version="1.0">
        <!-- a comment -->
        <dict>
        \t<key>Theme</key><string>dark</string> <key>Size</key><integer> 12 </integer>
        \t<key>Big</key><integer>9223372036854775808</integer> <key>Neg</key><integer>-5</integer>
        \t<key>Ratio</key><real>0.25</real> <key>On</key><true/>
        \t<key>When</key><date>2026-01-02T03:04:05Z</date>
        \t<key>Raw</key><data>
        \tAAE=
        \t</data>
        \t<key>List</key><array><integer>0x1</integer><string>é&#x65E5;</string><dict><key>a</key><false></false></dict></array>
        \t<key>Inf</key><real>inf</real> <key>Long</key><string>xxxxxxxxxxxxxxxxxxxx</string>
        </dict>
        </plist>
        """

    private static let values: [PropertyList.Entry] = [
        .init(key: "Theme", value: .string("dark")), .init(key: "Size", value: .number("12")),
        .init(key: "Big", value: .number("9223372036854775808")), .init(key: "Neg", value: .number("-5")),
        .init(key: "Ratio", value: .number("0.25")), .init(key: "On", value: .boolean(true)),
        .init(key: "When", value: .date("2026-01-02T03:04:05Z")), .init(key: "Raw", value: .data([0, 1])),
        .init(
            key: "List",
            value: .array([
                .number("1"), .string("é日"), .dictionary([.init(key: "a", value: .boolean(false))]),
            ])),
        .init(key: "Inf", value: .notFinite("inf")),
        .init(key: "Long", value: .string(String(repeating: "x", count: 20))),
    ]

    private static func decoded(_ base64: String) -> [UInt8] {
        var output = ByteBuffer()
        _ = Array(base64.utf8).withBytes { Base64.decode($0, into: &output) }
        return Array(output.bytes)
    }

    private static func fault(_ bytes: [UInt8]) -> String? {
        do throws(Failure) {
            _ = try PropertyList.read(bytes)
            return nil
        } catch { return error.status == .usage ? error.message : "\(error)" }
    }

    @Test func `both forms are read to the same values`() throws {
        #expect(try PropertyList.read(Array(Self.xml.utf8)) == .dictionary(Self.values))
        var withReference = Self.values
        withReference.insert(.init(key: "Uid", value: .reference(3)), at: 9)
        #expect(try PropertyList.read(Self.decoded(Self.binary)) == .dictionary(withReference))
    }

    @Test func `values are JSON, and what cannot be is told`() {
        var reason = ""
        let json = PropertyList.dictionary(Array(Self.values.prefix(9))).json(reason: &reason)
        #expect(
            String(decoding: json ?? [], as: UTF8.self)
                == #"{"Theme":"dark","Size":12,"Big":9223372036854775808,"Neg":-5,"Ratio":0.25,"On":true,"#
                + #""When":"2026-01-02T03:04:05Z","Raw":"AAE=","List":[1,"é日",{"a":false}]}"#)
        #expect(PropertyList.array([.boolean(true), .notFinite("inf")]).json(reason: &reason) == nil)
        #expect(reason == "inf is no number of JSON")
        #expect(PropertyList.dictionary([.init(key: "a", value: .reference(1))]).json(reason: &reason) == nil)
        #expect(reason.hasPrefix("it is an archived object"))
    }

    @Test func `text has its entities and sections, and the last of equal keys counts`() throws {
        let text =
            "<plist><dict><key>a</key><string>1</string><key>a&amp;b</key><string>&lt;&#65;<![CDATA[<&>]]><!-- x -->!</string>"
            + "<key>a</key><string/></dict></plist>"
        #expect(
            try PropertyList.read(Array(text.utf8))
                == .dictionary([.init(key: "a", value: .string("")), .init(key: "a&b", value: .string("<A<&>!"))]))
    }

    @Test func `broken XML is refused with its line`() {
        let cases = [
            "<plist>\n<dict>": "in line 2: it ends too early", "<plist/>": "the list is empty",
            "<plist><dict><string>a</string></dict></plist>": "<key> is expected, not <string>",
            "<plist><dict><key>a</key></dict></plist>": "'a' has no value",
            "<plist><array></dict></plist>": "</array> is expected",
            "<plist><integer>1.5</integer></plist>": "'1.5' is no integer",
            "<plist><real>x</real></plist>": "'x' is no number",
            "<plist><integer>-9223372036854775809</integer></plist>": "is no integer",
            "<plist><data>!</data></plist>": "no base64", "<plist><date>tomorrow</date></plist>": "is no date",
            "<plist><string>&x;</string></plist>": "&x; is unknown", "<plist><string>a": "</string> is missing",
            "<plist><true/></plist>x": "behind the list", "<plist><true/><true/></plist>": "</plist> is expected",
            "<!DOCTYPE plist [<!ENTITY a \"b\">]><plist><true/></plist>": "entities of its own",
            "<?xml version=\"1.0\" encoding=\"UTF-16\"?><plist><true/></plist>": "only UTF-8",
            "<plist><set/></plist>": "no value",
            "<plist>" + String(repeating: "<array>", count: 200): "nested too deep",
        ]
        for (text, message) in cases {
            #expect(
                Self.fault(Array(text.utf8))?.contains(message) == true,
                "\(text): \(Self.fault(Array(text.utf8)) ?? "read")")
        }
        #expect(Self.fault(Array("{ a = 1; }".utf8)) == "this is no property list in XML or binary form")
        let xml = Array(Self.xml.utf8)
        for end in stride(from: 200, to: xml.count - 9, by: 7) {
            #expect(Self.fault(Array(xml[..<end])) != nil, "\(end)")
        }
    }

    /// A binary list of these objects, each by its bytes; the first is the outermost.
    private static func list(_ objects: [[UInt8]]) -> [UInt8] {
        var bytes = Array("bplist00".utf8)
        var offsets: [UInt8] = []
        for object in objects {
            offsets += [UInt8(bytes.count >> 8), UInt8(bytes.count & 255)]
            bytes += object
        }
        let table = bytes.count
        bytes += offsets + [0, 0, 0, 0, 0, 0, 2, 1]
        for number in [objects.count, 0, table] { bytes += (0..<8).reversed().map { UInt8(number >> ($0 * 8) & 255) } }
        return bytes
    }

    @Test func `a binary list that lies is refused`() {
        #expect(Self.fault(Self.list([[0xA1, 1], [0x09]])) == nil)
        let cases: [(objects: [[UInt8]], message: String)] = [
            ([[0xA1, 0]], "an object holds itself"),
            ([[0xA1, 1], [0xD1, 2, 0], [0x51, 0x61]], "an object holds itself"),
            ([[0xA1, 9]], "refers to an object that is not there"), ([[0xD1, 1, 1], [0x09]], "a key that is no text"),
            ([[0x5F, 0x13, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]], "an object is cut off"),
            ([[0x4F, 0x13, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]], "an object is cut off"),
            ([[0xDF, 0x13, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]], "an object is cut off"),
            ([[0x5F, 0x51]], "an object without its size"), ([[0x51, 0xE9]], "not ASCII"),
            ([[0x62, 0xD8, 0x00, 0x00, 0x61]], "not UTF-16"), ([[0x15]], "unknown size"), ([[0x70]], "unknown kind"),
            ([[0x33, 0x7F, 0xF0, 0, 0, 0, 0, 0, 0]], "a date that no calendar has"),
            ([[0x13, 0, 0]], "an object is cut off"),
            // Each object holds the next one twice: a few bytes that stand for 2^40 values.
            ((0..<40).map { [0xA2, $0 + 1, $0 + 1] } + [[0x09]], "too many values"),
            ((0..<200).map { [0xA1, $0 + 1] } + [[0x09]], "nested too deep"),
            // 2^12 times a text of 60,000 bytes.
            (
                (0..<12).map { [0xA2, $0 + 1, $0 + 1] } + [
                    [0x5F, 0x11, 0xEA, 0x60] + [UInt8](repeating: 0x61, count: 60_000)
                ],
                "refers to the same texts too often"
            ),
        ]
        for (objects, message) in cases {
            let found = Self.fault(Self.list(objects))
            #expect(found?.contains(message) == true, "\(objects.first ?? []): \(found ?? "read")")
        }
    }

    @Test func `a damaged binary list is read or refused, wherever the damage is`() {
        let whole = Self.decoded(Self.binary)
        for end in 0..<whole.count { #expect(Self.fault(Array(whole[..<end])) != nil, "\(end)") }
        // It may be read to other values; it must not end the program.
        for place in 8..<whole.count {
            for value in [0, 0x7F, 0x80, 0xFF] as [UInt8] {
                var damaged = whole
                damaged[place] = value
                _ = Self.fault(damaged)
            }
        }
    }
}
