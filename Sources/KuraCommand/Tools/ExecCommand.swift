import CSyscalls
import Glibc
import KuraBytes
import KuraClient

// Safety: words are copied for `setenv` and `execvp`, which read them up to their ends; `write` gets a buffer with its length; the
// text of `strerror` is copied at once by the only thread.

/// `kura exec`: becomes another program that finds secrets and settings in its environment, or secrets in files that are only its own.
///
/// Nothing is started before all of them are there. They are in the memory of this process, which is the program's from then on, and
/// in no argument, no file with a name and no shell.
struct ExecCommand {
    static let tool = Tool(
        noun: nil, word: "exec", arguments: ["[--]", "COMMAND", "[ARGUMENT…]"],
        options: [
            .init(
                name: "env", value: "NAME=SERVICE/ACCOUNT", summary: "The secret as the environment variable NAME.",
                repeats: true),
            .init(
                name: "file", value: "NAME=SERVICE/ACCOUNT",
                summary: "NAME is the path of a file in memory (0400) that holds the secret.", repeats: true),
            .init(
                name: "setting", value: "NAME=DOMAIN/KEY",
                summary: "The setting as the environment variable NAME: text as it is, another value as JSON.",
                repeats: true),
        ],
        summary: "Run a command with secrets and settings in its environment.",
        explanation: [
            "What it needs is read first; when something is missing or may not be read, nothing is run. SERVICE/ACCOUNT#FIELD is one "
                + "text of a secret that has several. The command takes the place of kura: its exit status, signals and "
                + "terminal are its own; 126 says that it could not be run, 127 that it was not found.",
            "A file is in memory only and has no name: its path is /proc/self/fd/N, which the command and those of its "
                + "children that inherit the descriptor can open. It can be read and not changed.",
        ],
        examples: [
            "kura exec --env PGPASSWORD=db/main#password --setting PGHOST=app/database -- psql",
            "kura exec --file KEY=deploy/id_ed25519 -- sh -c 'ssh -i \"$KEY\" host'",
        ], takesCommand: true)

    private struct Binding {
        let variable: String
        let source: Source
        let isFile: Bool
        /// As the command line has it.
        let name: String
    }

    private enum Source {
        case secret(SecretReference)
        case setting(domain: String, key: String)
    }

    private let bindings: [Binding]
    private let words: [String]

    /// - Throws: a usage failure; nothing has been read then.
    init(_ arguments: ToolArguments) throws(Failure) {
        guard !arguments.words.isEmpty else {
            throw .usage("exec needs a command", hint: "usage: kura \(Self.tool.usage)")
        }
        words = arguments.words
        var bindings: [Binding] = []
        for (option, value) in arguments.options {
            let binding = try Self.binding(value, option)
            guard !bindings.contains(where: { $0.variable == binding.variable }) else {
                throw .usage("\(binding.variable) is given twice")
            }
            bindings.append(binding)
        }
        self.bindings = bindings
    }

    private static func binding(_ text: String, _ option: String) throws(Failure) -> Binding {
        let place = option == "setting" ? "DOMAIN/KEY" : "SERVICE/ACCOUNT"
        guard let sign = text.firstIndex(of: "="), sign != text.startIndex else {
            throw .usage(
                "'\(text)' binds no \(option == "setting" ? "setting" : "secret")", hint: "write NAME=\(place)")
        }
        let name = String(text[text.index(after: sign)...])
        let source: Source
        if option == "setting" {
            guard let slash = name.firstIndex(of: "/"), slash != name.startIndex, name.last != "/" else {
                throw .usage("'\(name)' names no setting", hint: "write \(place)")
            }
            source = .setting(domain: String(name[..<slash]), key: String(name[name.index(after: slash)...]))
        } else {
            source = .secret(try SecretReference(name))
        }
        return Binding(variable: String(text[..<sign]), source: source, isFile: option == "file", name: name)
    }

    /// Does not come back, unless it fails.
    func run(_ options: GlobalOptions, _ console: Console) throws(Failure) -> Never {
        _ = csys_set_no_dump()
        // All of them first: a command must not run with half of what it needs.
        var values: [(binding: Binding, bytes: [UInt8])] = []
        if !bindings.isEmpty {
            var session = try Session.open(options, console)
            for binding in bindings {
                values.append((binding, try Self.read(binding, &session)))
            }
        }
        for (binding, bytes) in values {
            let text = binding.isFile ? Array("/proc/self/fd/\(try Self.file(bytes, binding))".utf8) : bytes
            let characters = (text + [0]).map { CChar(bitPattern: $0) }
            guard unsafe setenv(binding.variable, characters, 1) == 0 else {
                throw Self.failure("cannot set \(binding.variable)", .refused)
            }
        }
        var arguments: [UnsafeMutablePointer<CChar>?] = unsafe words.map { unsafe strdup($0) }
        unsafe arguments.append(nil)
        unsafe execvp(words[0], arguments)
        throw Self.failure("cannot run \(words[0])", errno == ENOENT ? .notFound : .notExecutable)
    }

    private static func read(_ binding: Binding, _ session: inout Session) throws(Failure) -> [UInt8] {
        let bytes: [UInt8]
        switch binding.source {
        case .secret(let reference):
            let value = try reference.read(&session)
            if case .dictionary(let object) = value, !binding.isFile {
                let names = JSONObject(object)?.names.map { "\(reference.name)#\($0)" } ?? []
                throw .usage(
                    "\(reference.name) has several texts, and \(binding.variable) takes one",
                    hint: "name one of them: \(names.joined(separator: ", "))")
            }
            bytes = value.raw
        case .setting(let domain, let key):
            let result = try session.result(
                try Catalogue.standard.method(named: "settings.get"),
                JSONParts.object([("domain", JSONParts.string(domain)), ("key", JSONParts.string(key))]))
            guard let value = JSONObject(result)?["value"] else {
                throw Failure(
                    status: .absent, message: "there is no setting \(binding.name)",
                    hint: "'kura settings list \(domain)' names them")
            }
            bytes = JSONObject.string(value).map { Array($0.utf8) } ?? value
        }
        guard binding.isFile || !bytes.contains(0) else {
            let isSecret = if case .secret = binding.source { true } else { false }
            throw .usage(
                "\(binding.name) has a zero byte, which no environment variable can have",
                hint: isSecret ? "give it as a file: --file \(binding.variable)=\(binding.name)" : nil)
        }
        return bytes
    }

    /// A file in memory that the command inherits.
    private static func file(_ bytes: [UInt8], _ binding: Binding) throws(Failure) -> Int32 {
        let descriptor = unsafe csys_memory_file(binding.variable)
        guard descriptor >= 0 else { throw failure("cannot make a file in memory", .refused) }
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withBytes { unsafe write(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 else { throw failure("cannot write a file in memory", .refused) }
            rest = rest.dropFirst(count)
        }
        lseek(descriptor, 0, SEEK_SET)
        guard fchmod(descriptor, 0o400) == 0, csys_seal_memory_file(descriptor) == 0 else {
            throw failure("cannot seal a file in memory", .refused)
        }
        return descriptor
    }

    private static func failure(_ message: String, _ status: ExitCode) -> Failure {
        Failure(status: status, message: unsafe "\(message): \(String(cString: strerror(errno)))")
    }
}
