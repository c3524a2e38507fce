import KuraClient
import Testing

@Suite struct ParameterListTests {
    /// The files that `@` finds.
    private static let files: [String: [UInt8]] = [
        "note.txt": Array("Dear \"reader\"\n".utf8), "value.json": Array("{\n  \"a\" : [1, 2.50]\n}\n".utf8),
        "bytes": [0x66, 0xFF], "-": Array("from input".utf8),
    ]

    private static func read(_ path: String) throws(ParameterList.Fault) -> [UInt8] {
        guard let bytes = files[path] else { throw ParameterList.Fault("no \(path)") }
        return bytes
    }

    private static func json(_ arguments: String...) throws -> String {
        var list = ParameterList()
        for argument in arguments { try list.add(argument, read: read) }
        return String(decoding: list.json, as: UTF8.self)
    }

    private static func fault(_ arguments: String...) -> String? {
        var list = ParameterList()
        do throws(ParameterList.Fault) {
            for argument in arguments { try list.add(argument, read: read) }
            return nil
        } catch {
            return error.description
        }
    }

    @Test func `an equals sign gives a string whatever it looks like, a colon before it gives JSON`() throws {
        #expect(try Self.json("key=5", "value:=5") == #"{"key":"5","value":5}"#)
        #expect(try Self.json("a=", "b=x=y", "c=d:=e") == #"{"a":"","b":"x=y","c":"d:=e"}"#)
        #expect(try Self.json("a:=null", #"b:="x""#, "c:=[ 1 , {} ]") == #"{"a":null,"b":"x","c":[1,{}]}"#)
    }

    @Test func `without arguments there are no parameters`() throws {
        #expect(try Self.json() == "")
    }

    @Test func `quotes, backslashes, controls and names are escaped; other text stays as it is`() throws {
        #expect(try Self.json("a=\"\\\n\u{1}é日") == "{\"a\":\"\\\"\\\\\\n\\u0001é日\"}")
        #expect(try Self.json("a\"b=c") == #"{"a\"b":"c"}"#)
    }

    @Test func `numbers keep every digit`() throws {
        #expect(
            try Self.json("value:=1.10000000000000000000000000001e+400")
                == #"{"value":1.10000000000000000000000000001e+400}"#)
    }

    @Test func `a value is read from a file, as a string or as JSON`() throws {
        #expect(try Self.json("text=@note.txt") == #"{"text":"Dear \"reader\"\n"}"#)
        #expect(try Self.json("value:=@value.json") == #"{"value":{"a":[1,2.50]}}"#)
        #expect(try Self.json("text=@-") == #"{"text":"from input"}"#)
        #expect(try Self.json(#"handle:="@note.txt""#) == #"{"handle":"@note.txt"}"#)
    }

    @Test func `what is no parameter is refused with its reason`() {
        #expect(Self.fault("theme") == "'theme' is no parameter: write name=text or name:=json")
        #expect(Self.fault("=x") == "'=x' lacks a name before the equals sign")
        #expect(Self.fault(":=1") == "':=1' lacks a name before the equals sign")
        #expect(Self.fault("a=1", "a:=1") == "a is given twice")
        #expect(Self.fault("v:=dark")?.hasSuffix("at byte 0; for text write v=…") == true)
        #expect(Self.fault("v:=")?.contains("ends too early") == true)
        #expect(Self.fault("v:=1 2")?.contains("more behind its end, at byte 2") == true)
        #expect(Self.fault(#"v:={"a":1,"\u0061":2}"#)?.contains("twice in one object") == true)
        #expect(Self.fault("v=@bytes") == "v: the content of bytes is not UTF-8, which JSON strings are")
        #expect(Self.fault("v:=@note.txt")?.hasPrefix("v: the content of note.txt is not JSON") == true)
        #expect(Self.fault("v=@absent") == "no absent")
    }
}
