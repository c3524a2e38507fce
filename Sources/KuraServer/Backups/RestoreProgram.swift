import Glibc
import KuraBytes
import KuraProtocol
import KuraStorage

// Safety: text goes out with its length; the text of `strerror` is copied at once by the only thread.

/// `kurad restore`: makes a data directory of a backup, or checks one. No daemon runs in this process.
public enum RestoreProgram {
    private static let help = """
        kurad restore - make a data directory of a backup, or check one

        usage: kurad restore FILE [options]

          --data-dir DIR          where to: not there, or empty; of a volume a
                                  directory in it  [$KURA_DATA_DIR;
                                  root: /var/lib/kura, else $XDG_STATE_HOME/kura]
          --only WHAT             \(Method.Store.durable.words.joinedByCommas), or a scope such as
                                  documents/notes; may be given several times
          --at REV                add the log's changes up to this revision, or up
                                  to its end with 'newest'; needs --log
          --log DIR               where they are: the log/ of a data directory, or
                                  a copy of it
          --without-lost-attachments
                                  with --log: lists go without the attachments
                                  whose contents are gone, and each is told
          --dry-run               check all of it, and tell what is in it; restore
                                  nothing
          --identity FILE         what 'kura secrets identity' made: opens what is
                                  encrypted to it; may be given several times
          --passphrase-file FILE  opens what is encrypted with the passphrase in
                                  the file's first line
          --keys DIR              a copy of the keys/ of where it was made, which
                                  tells whether it was  [keys/ of $KURA_DATA_DIR,
                                  or of the directory that takes its place]
          --unproved              restore it though nothing shows who made it:
                                  whoever wrote the file decides what is in it
          --json                  the outcome as one line of JSON
          --quiet, -q             print nothing but errors
          --help                  this text

        The file is read to its end and checked before anything is written. Exit
        status: 0 done, 1 refused or failed, 2 bad usage; then nothing was restored.
        'kura restore --help' tells more.

        """

    private struct Options {
        var file: String?
        var directory: String?
        var only: [[UInt8]] = []
        var at: String?
        var log: String?
        var withoutLostAttachments = false
        var isDry = false
        var isJSON = false
        var isQuiet = false
        var keys: String?
        var takesUnproved = false
        var opener = BackupOpener()
    }

    private struct Usage: Error {
        var message: String
    }

    /// - Parameter arguments: those behind `restore`.
    /// - Returns: the exit status.
    public static func run(_ arguments: [String]) -> Int32 {
        umask(0o077)
        let options: Options
        do throws(Usage) {
            guard !arguments.contains("--help"), !arguments.contains("-h") else {
                ProgramOutput.print(help, to: STDOUT_FILENO)
                return 0
            }
            options = try parse(arguments)
        } catch {
            ProgramOutput.print("kurad restore: \(error.message)\nTry 'kurad restore --help'.\n", to: STDERR_FILENO)
            return 2
        }
        do throws(BackupFault) {
            try run(options)
            return 0
        } catch {
            var reason = "\(error)"
            switch error {
            case .keyNeeded: reason += " (--identity FILE or --passphrase-file FILE)"
            case .unproved(.laterKeys):
                reason +=
                    ". Bring a copy of keys/ from after the rotation (--keys DIR), or have it restored all the same: --unproved"
            case .unproved:
                reason +=
                    ". Bring the keys of where it was made (--keys DIR, with its root.key), or have it restored all the same: --unproved"
            case .unprovedLog:
                reason += ". Name both in one data directory (--keys DATA/keys --log DATA/log), or say --unproved"
            case .foreignLog: reason += ". Have it restored all the same: --unproved"
            default: break
            }
            ProgramOutput.print(filled("kurad restore: \(options.file ?? ""): \(reason)"), to: STDERR_FILENO)
            return 1
        }
    }

    private static func parse(_ arguments: [String]) throws(Usage) -> Options {
        var options = Options()
        var words = arguments[...]
        while let word = words.popFirst() {
            let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            let inline = word.hasPrefix("--") && parts.count == 2 ? parts[1] : nil
            func value() throws(Usage) -> String {
                guard let value = inline ?? words.popFirst() else { throw Usage(message: "\(parts[0]) needs a value") }
                return value
            }
            switch inline == nil ? word : parts[0] {
            case "--data-dir": options.directory = try value()
            case "--only": options.only.append(Array(try value().utf8))
            case "--at": options.at = try value()
            case "--log": options.log = try value()
            case "--keys": options.keys = try value()
            case "--unproved": options.takesUnproved = true
            case "--without-lost-attachments": options.withoutLostAttachments = true
            case "--dry-run": options.isDry = true
            case "--json": options.isJSON = true
            case "--quiet", "-q": options.isQuiet = true
            case "--identity":
                let path = try value()
                let text: [UInt8]
                // Whoever could write to it, or own it, would choose the key.
                do throws(Configuration.Refusal) {
                    text = try Configuration.trustedContents(of: path, own: "one's own")
                } catch { throw Usage(message: "cannot read \(path): \(error.description)") }
                guard options.opener.add(identity: text) else { throw Usage(message: "\(path) is no identity") }
            case "--passphrase-file":
                let path = try value()
                let text: [UInt8] = (Configuration.contents(of: path) ?? []).prefix { $0 != 0x0A }.map { $0 }
                guard !text.isEmpty else { throw Usage(message: "\(path) has no passphrase in its first line") }
                guard text.count <= WireLimits.passphraseBytes else {
                    throw Usage(
                        message: "\(path) has more than \(WireLimits.passphraseBytes) bytes in its first line")
                }
                options.opener.passphrase = text
            default:
                guard !word.hasPrefix("-"), options.file == nil else {
                    throw Usage(message: "does not know what to do with '\(word)'")
                }
                options.file = word
            }
        }
        guard options.file != nil else { throw Usage(message: "which FILE?") }
        guard (options.at == nil) == (options.log == nil) else {
            throw Usage(message: "--at REV and --log DIR go together")
        }
        guard options.log != nil || !options.withoutLostAttachments else {
            throw Usage(message: "--without-lost-attachments goes with --log")
        }
        if let at = options.at {
            guard at == "newest" || UInt64(at) != nil else { throw Usage(message: "--at is a revision, or newest") }
            guard options.only.isEmpty, !options.isDry else {
                throw Usage(message: "--at takes everything: neither --only nor --dry-run goes with it")
            }
        }
        return options
    }

    private static func run(_ options: Options) throws(BackupFault) {
        let file = options.file ?? ""
        let selection = try BackupSelection(options.only)
        // Before anything is said of the directory.
        guard unsafe access(file, R_OK) == 0 else {
            throw .refused(unsafe "it cannot be read: \(String(cString: strerror(errno)))")
        }
        let usual =
            SocketPath.environment("KURA_DATA_DIR") ?? Configuration.defaultDataDirectory(SocketPath.environment)
        var opener = options.opener
        if let keys = options.keys {
            opener.brought = try BroughtKeys(directory: keys)
        } else {
            // Where there are none, or they are not for whoever asks, nothing is told by them.
            opener.brought = try? BroughtKeys(directory: usual + "/keys")
        }
        if options.isDry {
            let verified = try BackupRestore.verify(file, opener)
            var text =
                options.isJSON
                ? json(verified.manifest, verified.origin, nil) : describe(verified.manifest, verified.origin)
            if !options.isJSON {
                text += "whole: \(verified.bytes) bytes, BLAKE2b-256\n\(BackupsJob.digits(verified.digest))\n"
            }
            if !options.isQuiet { ProgramOutput.print(text, to: STDOUT_FILENO) }
            return
        }
        let directory = options.directory ?? usual
        let bar = isatty(STDERR_FILENO) == 1 && !options.isQuiet
        var shown = -1
        let changes = options.log.map {
            LogChanges(
                log: $0, upTo: options.at.flatMap { UInt64($0) },
                withoutLostAttachments: options.withoutLostAttachments)
        }
        let outcome = try BackupRestore.restore(
            file, into: directory, opener, selection: selection, changes: changes,
            takesUnproved: options.takesUnproved
        ) { done, total in
            let percent = total > 0 ? done * 100 / total : 100
            guard bar, percent != shown else { return }
            shown = percent
            ProgramOutput.draw(errorLine: "restore: \(percent)%")
        }
        if bar { ProgramOutput.draw(errorLine: "") }
        tell(outcome.lostAttachments.map { "without the attachment \($0), whose content is gone" })
        if options.isQuiet { return }
        tell(outcome.unnamedSegments.map { "\($0) of the log does not say of which history it is, and was taken" })
        guard !options.isJSON else {
            ProgramOutput.print(json(outcome.manifest, outcome.origin, outcome), to: STDOUT_FILENO)
            return
        }
        var text = describe(outcome.manifest, outcome.origin)
        text += "restored to \(directory)\nas the history \(outcome.epoch)\n"
        if outcome.rev > outcome.manifest.rev {
            text +=
                "with the log's changes up to revision \(outcome.rev),\nwhich the first start takes in; they have no proof of their own\n"
        }
        if !options.only.isEmpty {
            text += outcome.counts.named().map { "  \($0.0): \($0.1)\n" }.joined()
        }
        if outcome.needsRootKey {
            text += "The secrets stay sealed until one of these is there, from where\nthey come from:\n"
            for kind in KeySlot.Kind.allCases where outcome.neededKeys.contains(kind) {
                text += "  \(hint(kind, directory))\n"
            }
        }
        ProgramOutput.print(text, to: STDOUT_FILENO)
    }

    // MARK: Telling

    private static func tell(_ lines: [String]) {
        for line in lines { ProgramOutput.print(filled("kurad restore: \(line)"), to: STDERR_FILENO) }
    }

    /// What is to be done with the key of a slot, so that a restored store opens.
    private static func hint(_ kind: KeySlot.Kind, _ directory: String) -> String {
        switch kind {
        case .keyFile: "root.key: put it into \(directory)/keys/ before the daemon starts"
        case .descriptor: "the key that was given by --key-fd: start kurad with it"
        case .credential: "the credential kura.key: start kurad with it ($CREDENTIALS_DIRECTORY)"
        case .container: "the key's file: name it as secrets.keyFile in the configuration"
        case .passphrase: "a passphrase: kura secrets unlock --passphrase"
        }
    }

    private static func describe(_ manifest: BackupManifest, _ origin: BackupOrigin) -> String {
        var stamp = ByteBuffer()
        stamp.append(timestamp: manifest.createdAt)
        var text = "backup of \(String(stamp.bytes).filter { $0 != "\"" }), revision \(manifest.rev)"
        text += "\nof the history \(manifest.epoch)\n"
        switch origin {
        case .ours: text += "made by a daemon with the keys at hand, and not altered\n"
        case .otherHost: text += "made by a daemon with other keys, as it says: the keys at hand cannot tell\n"
        case .laterKeys: text += "made after a rotation, as it says: the keys at hand are older, and cannot tell\n"
        case .unproved: text += "no keys at hand (--keys DIR) show who made it, and whether it was altered\n"
        }
        if !manifest.include.isEmpty {
            text +=
                "  only: " + manifest.include.map { String(decoding: $0, as: UTF8.self) }.joined(separator: ", ") + "\n"
        }
        for (name, count) in manifest.counts.named() { text += "  \(name): \(count)\n" }
        for item in manifest.leftOut {
            let place = [Array(item.store.utf8), item.scope, item.name].filter { !$0.isEmpty }
                .map { String(decoding: $0, as: UTF8.self) }.joined(separator: "/")
            let reason =
                switch item.reason {
                case .marked: "configured with backup: false"
                case .deviceOnly: "bound to the host where the backup was made"
                case .damaged: "not what was stored, or missing, when the backup was made"
                case .locked: "the secrets were locked when the backup was made"
                }
            // Damaged secrets may be in it as they are.
            let label = item.reason == .damaged && item.store == "secrets" ? "damaged" : "left out"
            text += "  \(label): \(place), \(item.count):\n    \(reason)\n"
        }
        return text
    }

    private static func json(
        _ manifest: BackupManifest, _ origin: BackupOrigin, _ outcome: BackupRestore.Outcome?
    ) -> String {
        var text = ByteBuffer()
        text.openObject()
        text.append(.epoch, outcome?.epoch ?? manifest.epoch)
        if outcome != nil { text.append(.backupEpoch, manifest.epoch) }
        text.append(.rev, outcome?.rev ?? manifest.rev)
        if let outcome, outcome.rev > manifest.rev { text.append(.backupRev, manifest.rev) }
        text.append(.origin, origin.word)
        text.append(.createdAt, manifest.createdAt)
        var shown = manifest
        if let outcome {
            shown.counts = outcome.counts
            text.append(.needsRootKey, outcome.needsRootKey)
        }
        BackupsJob.append(shown, to: &text)
        text.closeObject()
        text.append("\n")
        return String(text.bytes)
    }

    /// On a terminal no word is broken at its edge.
    private static func filled(_ text: String) -> String {
        var size = winsize()
        // Safety: the kernel fills one `winsize`, which is ours.
        let isTerminal = unsafe isatty(STDERR_FILENO) == 1 && ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0
        guard isTerminal, size.ws_col >= 20 else { return text + "\n" }
        var lines = [""]
        for word in text.split(separator: " ") {
            let line = lines[lines.count - 1]
            if line.isEmpty || line.count + word.count + 1 <= size.ws_col {
                lines[lines.count - 1] += line.isEmpty ? String(word) : " \(word)"
            } else {
                lines.append("  \(word)")
            }
        }
        return lines.joined(separator: "\n") + "\n"
    }
}
