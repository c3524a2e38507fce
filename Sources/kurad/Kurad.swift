import Glibc
import KuraProtocol
import KuraServer

private let help = """
    kurad - the storage service of one host

    usage: kurad [options]
           kurad restore FILE [options]   make a data directory of a backup
           kurad doctor [options]         look at a data directory and its host

      --data-dir DIR      where data lies  [$KURA_DATA_DIR; root: /var/lib/kura,
                          else $XDG_STATE_HOME/kura]
      --socket PATH       where to listen  [$KURA_SOCKET; root:
                          /run/kura/kura.sock, else
                          $XDG_RUNTIME_DIR/kura/kura.sock]
      --config FILE       JSON configuration  [$KURA_CONFIG]
      --min-free BYTES    free bytes of the disk below which caches store nothing
                          [$KURA_MIN_FREE_BYTES; 400 MiB, or a twentieth]
      --seed-bundle FILE  what stores begin with that are absent: 'kura bundle
                          create' makes one
      --ephemeral         data in a temporary directory, gone at exit
      --memory            with --ephemeral: that directory lies in memory
                          (/dev/shm), and syncs cost nothing
      --disk-limit BYTES  with --ephemeral: the temporary directory takes no more,
                          as if the disk was full; a file put there fills it
      --profile NAME      memory and disk: small, default or large
      --key-fd N          read the key of a slot of the secrets (32 bytes) from
                          descriptor N, and close it
      --without-secrets   start also when secrets are there and keys/slots.json,
                          which opens them, is not
      --log-level NAME    debug, info, warning or error  [info]
      --print-openrpc     print what rpc.discover answers, and exit
      --print-docs STORE  print the tables of proto-docs for a store, or for
                          "errors", and exit
      --version           print the version, and exit
      --help              this text; 'kurad restore --help' and 'kurad doctor
                          --help' tell of those

    The log goes to standard error: lines for people on a terminal, JSON
    otherwise. SIGTERM and SIGINT drain: no more connections, everything asked
    for answered, synced and folded, exit 0; a second one exits at once. SIGHUP
    reads the configuration again: roles, quotas, settingsLocks, logLevel and
    slowMilliseconds come into force, also for clients that are connected; what
    takes a restart is told in the log.

    The secrets' root key opens with DATA/keys/root.key, which the first start
    makes, unless it is told of another key: --key-fd,
    $CREDENTIALS_DIRECTORY/kura.key, or secrets.keyFile of the configuration; see
    proto-docs/secrets.md. No core dumps, and nobody but root traces the daemon
    or reads its memory; KURA_DUMPABLE=1 waives that for tests. A crash is
    reported with registers and memory only when SWIFT_BACKTRACE is set.

    Sockets and roles are keys of the configuration: see proto-docs/access.md. A
    service manager is understood: LISTEN_FDS, LISTEN_FDNAMES (each the name of a
    socket of the configuration, or of a role), NOTIFY_SOCKET, WATCHDOG_USEC.

    Exit status: 0 drained, 1 in use or failed, 2 refused (bad option,
    configuration or data directory, data of a newer version). A file that the
    disk does not give just now is a failure.

    First steps:
      kurad --ephemeral --socket /tmp/kura.sock &
      echo '{"jsonrpc":"2.0","id":1,"method":"storage.ping"}' |
        socat -t 60 - UNIX-CONNECT:/tmp/kura.sock

    """

/// Argument parsing only: what a daemon does is in `KuraServer.Daemon`.
@main
struct Kurad {
    private var arguments = Daemon.arguments
    private var flags = Configuration()
    private var isEphemeral = false
    private var isInMemory = false
    private var profile: String?
    private var level: String?
    private var diskLimit: String?
    private var minFree = SocketPath.environment("KURA_MIN_FREE_BYTES")
    private var configFile = SocketPath.environment("KURA_CONFIG")

    static func main() {
        ProgramOutput.keepApart()
        var program = Kurad()
        if program.arguments.first == "restore" { exit(RestoreProgram.run(Array(program.arguments.dropFirst()))) }
        if program.arguments.first == "doctor" { exit(DoctorProgram.run(Array(program.arguments.dropFirst()))) }
        program.parse()
        do throws(Configuration.Refusal) {
            let program = program
            exit(
                Daemon.run(try program.configuration()) { () throws(Configuration.Refusal) in
                    try program.configuration()
                })
        } catch {
            if error.exitStatus == 2 { refuse(error.description) }
            ProgramOutput.print(Array("kurad: \(error.description)\n".utf8), to: STDERR_FILENO)
            exit(error.exitStatus)
        }
    }

    private mutating func parse() {
        while !arguments.isEmpty {
            let argument = arguments.removeFirst()
            let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            let inline = argument.hasPrefix("--") && parts.count == 2 ? parts[1] : nil
            switch inline == nil ? argument : parts[0] {
            case "--data-dir": flags.dataDirectory = value(of: argument, inline)
            case "--socket": flags.socket = value(of: argument, inline)
            case "--config": configFile = value(of: argument, inline)
            case "--seed-bundle": flags.seedBundle = value(of: argument, inline)
            case "--ephemeral": isEphemeral = true
            case "--memory": isInMemory = true
            case "--disk-limit": diskLimit = value(of: argument, inline)
            case "--profile": profile = value(of: argument, inline)
            case "--min-free": minFree = value(of: argument, inline)
            case "--log-level": level = value(of: argument, inline)
            case "--without-secrets": flags.goesWithoutSecrets = true
            case "--key-fd":
                let text = value(of: argument, inline)
                guard let number = Int32(text), number >= 0 else { Self.refuse("--key-fd is a descriptor's number") }
                flags.keyDescriptor = number
            case "--print-openrpc":
                ProgramOutput.print(OpenRPC.document(version: Daemon.version))
                exit(0)
            case "--print-docs":
                let name = value(of: argument, inline)
                guard let text = MethodDocs.render(named: name) else { Self.refuse("no such page: \(name)") }
                ProgramOutput.print(Array((text + "\n").utf8))
                exit(0)
            case "--version":
                ProgramOutput.print(Array("kurad \(Daemon.version)\n".utf8))
                exit(0)
            case "--help", "-h":
                ProgramOutput.print(Array(help.utf8))
                exit(0)
            default: Self.refuse("unknown argument \(argument)")
            }
        }
        if isEphemeral, flags.dataDirectory != nil {
            Self.refuse("--ephemeral makes a directory of its own and --data-dir names one: give one of them")
        }
        if isInMemory, !isEphemeral {
            Self.refuse("--memory is for data that goes with the daemon: give --ephemeral, too")
        }
    }

    private mutating func value(of option: String, _ inline: String?) -> String {
        if let inline { return inline }
        guard !arguments.isEmpty else { Self.refuse("\(option) needs a value") }
        return arguments.removeFirst()
    }

    /// Flags over the environment over the file over defaults.
    private func configuration() throws(Configuration.Refusal) -> Configuration {
        var configuration = Configuration()
        if let configFile, !configFile.isEmpty { try configuration.read(file: configFile) }
        if let profile { configuration.profile = try Configuration.profile(profile) }
        if let minFree, !minFree.isEmpty { configuration.minFreeBytes = try Configuration.minFreeBytes(minFree) }
        if let level { configuration.logLevel = try Configuration.level(level) }
        configuration.dataDirectory =
            flags.dataDirectory ?? SocketPath.environment("KURA_DATA_DIR") ?? configuration.dataDirectory
        if let socket = flags.socket ?? SocketPath.environment("KURA_SOCKET") { try configuration.listen(at: socket) }
        configuration.seedBundle = flags.seedBundle ?? configuration.seedBundle
        configuration.lifetime = isInMemory ? .inMemory : isEphemeral ? .ephemeral : .lasting
        if let diskLimit {
            configuration.diskLimit = try Configuration.diskLimit(diskLimit, isEphemeral: isEphemeral)
        }
        configuration.keyDescriptor = flags.keyDescriptor
        configuration.goesWithoutSecrets = flags.goesWithoutSecrets
        return configuration
    }

    private static func refuse(_ message: String) -> Never {
        ProgramOutput.print(Array("kurad: \(message)\nTry 'kurad --help'.\n".utf8), to: STDERR_FILENO)
        exit(2)
    }
}
