import Testing

@testable import KuraCommand

@Suite struct EnvironmentFileTests {
    private func entries(_ text: String) throws -> [String] {
        try EnvironmentFile(text).entries.map { "\($0.name)=\($0.value)" }
    }

    private func fault(_ text: String) -> String {
        do throws(Failure) { return "read \(try EnvironmentFile(text, ".env").entries)" } catch { return error.message }
    }

    @Test func `names and values come as a shell would have them, without substitutions`() throws {
        #expect(try entries("A=1\nB=two words\nC=\n") == ["A=1", "B=two words", "C="])
        #expect(try entries("  export A = 1  \nexport=2") == ["A=1", "export=2"])
        #expect(try entries("A=$HOME `id` \\n") == ["A=$HOME `id` \\n"])
        #expect(
            try entries("A='$x \"y\" \\n'\nB=\"$x 'y' \\n\\t\\\"\\\\\\$\\q\"") == [
                "A=$x \"y\" \\n", "B=$x 'y' \n\t\"\\$\\q",
            ])
        #expect(try entries("A='one\ntwo'\nB=\"one\ntwo\"") == ["A=one\ntwo", "B=one\ntwo"])
        #expect(try entries("A=日本 蔵\r\nB=2\r\n") == ["A=日本 蔵", "B=2"])
        #expect(try entries("a.b-c_1=x=y==") == ["a.b-c_1=x=y=="])
    }

    @Test func `comments stand on their own or behind a blank`() throws {
        #expect(
            try entries("# A=1\n\n   # x\nB=2 # two\nC=a#b\nD='x' # y\nE= # none") == ["B=2", "C=a#b", "D=x", "E="])
    }

    @Test func `the last of several values counts, and is told`() throws {
        let file = try EnvironmentFile("A=1\nB=2\nA=3\nA=4")
        #expect(file.entries.map(\.value) == ["4", "2"])
        #expect(file.repeated == ["A"])
    }

    @Test func `what is no assignment is refused by its line`() {
        #expect(fault("A=1\nwhat is this\n") == ".env, line 2: NAME=VALUE is expected")
        #expect(fault("=1") == ".env, line 1: NAME=VALUE is expected")
        #expect(fault("A=1\n\nB=\"x\ny\nz") == ".env, line 3: the quote is not closed")
        #expect(fault("A=\"x\ny\" z\n") == ".env, line 2: something stands behind the closing quote")
        #expect(fault("A") == ".env, line 1: NAME=VALUE is expected")
    }
}
