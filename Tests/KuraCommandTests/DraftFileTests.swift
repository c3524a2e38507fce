import Glibc
import KuraBytes
import Testing

@testable import KuraCommand

/// Files that commands write.
@Suite struct DraftFileTests {
    @Test
    func `a file that is there keeps its content whatever becomes of the command, and is replaced only when told so`()
        throws
    {
        let outcome = try Shell.run(
            """
            \(Shell.daemon)
            exec 2>&1
            kura -q docs put notes a '{"n":1}'; printf 'a blob' | kura -q blobs put images b -
            printf kept >there; ln there alias
            kura docs export notes there; echo "exit $?"; cat there; echo
            kura blobs get images b there; echo "exit $?"; cat there; echo
            kura --socket nowhere.sock docs export notes there --replace 2>/dev/null; echo "exit $?"; cat there; echo
            kura docs export notes there --where '{"$nope":1}' --replace 2>/dev/null; echo "exit $?"; cat there; echo
            kura blobs get images none there --replace; echo "exit $?"; cat there; echo
            kura docs export notes missing/new 2>/dev/null; echo "exit $?"
            kura docs export notes new -q; echo "exit $?"; cat new
            kura docs export notes there --replace -q; echo "exit $?"; cat there
            cat alias; echo
            kura blobs get images b there --replace -q; cat there; echo
            kura docs export notes /dev/null -q; echo "exit $?"; ls *.part 2>/dev/null
            kura docs export typo - ; kura docs export typo typo -q; wc -c <typo
            """)
        #expect(
            outcome.output == """
                kura: there is there already
                hint: --replace has it take the other's place, once all of it has come
                exit 2
                kept
                kura: there is there already
                hint: --replace has it take the other's place, once all of it has come
                exit 2
                kept
                exit 3
                kept
                exit 2
                kept
                kura: nothing is there
                exit 7
                kept
                exit 2
                exit 0
                {"id":"a","value":{"n":1}}
                exit 0
                {"id":"a","value":{"n":1}}
                kept
                a blob
                exit 0
                kura: there are no documents in 'typo'; 'kura docs scopes' names the collections
                kura: exported 0, rev 1
                0

                """, "\(outcome.output)")
    }

    @Test func `every command that writes a file leaves alone what is there, unless told to replace it`() throws {
        let outcome = try Shell.run(
            """
            \(Shell.daemon)
            kura -q docs put notes a '{"n":1}'; printf s | kura -q secrets put mail ada
            key=$(kura secrets identity id)
            commands=(
                "backup FILE" "bundle create FILE" "disk-writes --html FILE" "record FILE --seconds 1"
                "secrets export mail --recipient $key --output FILE"
            )
            for command in "${commands[@]}"; do
                echo "${command%% *}"
                rm -f there; printf kept >there; ln -f there alias
                kura ${command/FILE/there} >/dev/null 2>told; echo "exit $?, $(cat there)"; cat told
                # Before anything is asked.
                kura --socket nowhere.sock ${command/FILE/there} 2>/dev/null; echo "exit $?"
                kura --socket nowhere.sock ${command/FILE/there} --replace 2>/dev/null; echo "exit $?, $(cat there)"
                kura -q ${command/FILE/there} --replace; echo "exit $?, $(stat -c %a there), $(cat alias)"
                [[ $(head -c 4 there) != kept && -s there ]] && echo replaced
                (umask 0; kura -q ${command/FILE/new}); stat -c %a new; rm new
                kura -q ${command/FILE/-} >piped; echo "exit $?"; head -c 9 piped | cmp - <(head -c 9 there) && echo same
            done
            kura disk-writes --replace; kura secrets export mail --recipient "$key" --replace
            kura secrets identity -; echo "exit $?"
            kura backup - 2>told | cat >piped; head -1 told | cut -d: -f1; kura -q restore piped --dry-run && echo whole
            ls
            """)
        let each = """
            exit 2, kept
            kura: there is there already
            hint: --replace has it take the other's place, once all of it has come
            exit 2
            exit 3, kept
            exit 0, 600, kept
            replaced
            600
            exit 0
            same

            """
        #expect(
            outcome.output == ["backup", "bundle", "disk-writes", "record", "secrets"].map { "\($0)\n\(each)" }.joined()
                + """
                exit 2
                -
                whole
                alias
                id
                kura.sock
                log
                piped
                there
                told

                """, "\(outcome.output)")
    }

    @Test func `what is no file is refused and not waited for, whether it is named or a link leads there`() throws {
        let outcome = try Shell.run(
            """
            \(Shell.daemon)
            kura -q docs put notes a '{"n":1}'; printf 'a blob' | kura -q blobs put images b -
            printf s | kura -q secrets put mail ada; key=$(kura secrets identity id)
            mkfifo pipe; ln -s pipe to-pipe; ln -s /dev/null to-null; mkdir folder; ln -s folder to-folder
            ln -s kura.sock to-socket
            commands=(
                "backup FILE" "bundle create FILE" "disk-writes --html FILE" "docs export notes FILE"
                "blobs get images b FILE" "secrets export mail --recipient $key --output FILE"
            )
            for command in "${commands[@]}"; do
                for name in pipe to-pipe to-null folder/ to-folder to-socket; do
                    for option in "" --replace; do
                        timeout 60 kura ${command/FILE/$name} $option >told 2>&1; echo -n "$? "
                    done
                done
                echo
            done
            kura backup to-pipe 2>&1; kura backup folder --replace 2>&1
            ls -A folder; [[ -p pipe && -L to-pipe && -L to-null ]] && echo untouched
            """)
        let row = String(repeating: "2 ", count: 12) + "\n"
        #expect(
            outcome.output == String(repeating: row, count: 6) + """
                kura: to-pipe is a link to a FIFO, and no file
                hint: '-' is standard output, which the shell leads there: kura … - >to-pipe
                kura: folder is a directory, and no file
                hint: name a file in it
                untouched

                """, "\(outcome.output)")
    }

    @Test func `nothing is written through a link: it is kept, or replaced itself`() throws {
        let outcome = try Shell.run(
            """
            \(Shell.daemon)
            kura -q docs put notes a '{"n":1}'
            printf kept >victim; ln -s victim link; ln -s none dangling
            for name in link dangling; do
                kura docs export notes $name 2>/dev/null; echo "exit $?, $([[ -L $name ]] && echo a link)"
                kura -q docs export notes $name --replace; echo "exit $?, $([[ -L $name ]] || cat $name)"
            done
            cat victim; echo; [[ -e none ]] || echo none
            """)
        let each = "exit 2, a link\nexit 0, {\"id\":\"a\",\"value\":{\"n\":1}}\n"
        #expect(outcome.output == each + each + "kept\nnone\n", "\(outcome.output)")
    }

    @Test func `the name of a descriptor stands for it, where it stands`() throws {
        let outcome = try Shell.run(
            """
            \(Shell.daemon)
            kura -q docs put notes a '{"n":1}'
            (echo before; kura docs export notes /dev/stdout 2>told; echo behind) >all; cat all; cut -d' ' -f1 <told
            for name in /dev/fd/3 /proc/self/fd/3; do
                (echo before >&3; kura -q docs export notes $name >told) 3>all; cat all; wc -c <told
            done
            kura -q docs export notes /dev/stderr 2>all; cat all
            kura backup /dev/fd/1 2>/dev/null >all; kura -q restore all --dry-run && echo whole
            for name in /dev/fd/0 /dev/fd/77 /dev/fd/03; do kura docs export notes $name 2>/dev/null; echo "exit $?"; done
            """)
        let line = #"{"id":"a","value":{"n":1}}"#
        #expect(
            outcome.output == """
                before
                \(line)
                behind
                kura:
                before
                \(line)
                0
                before
                \(line)
                0
                \(line)
                whole
                exit 2
                exit 2
                exit 2

                """, "\(outcome.output)")
    }

    /// A directory for one test.
    private final class Folder {
        let path: String

        init() {
            var template = Array("/tmp/kura-drafts-XXXXXX".utf8CString)
            precondition(mkdtemp(&template) != nil)
            path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        }

        deinit { _ = try? Shell.run("rm -rf \(path)") }

        /// Names and contents of what is in it.
        var contents: [String] {
            (try? Shell.run("cd \(path) && for name in $(ls -A); do echo \"$name $(cat $name)\"; done"))?.output
                .split(separator: "\n").map(String.init) ?? []
        }

        /// Writes a file of one line.
        func write(_ name: String, _ text: String, replaces: Bool?, mayBeNameless: Bool, meanwhile: String? = nil)
            throws(Failure)
        {
            let draft = try DraftFile("\(path)/\(name)", replaces: replaces, mayBeNameless: mayBeNameless)
            try Array(text.utf8).withBytes { (bytes) throws(Failure) in try draft.write(bytes) }
            if let meanwhile { _ = try? Shell.run("cd \(path) && \(meanwhile)") }
            try draft.finish()
        }
    }

    @Test(arguments: [true, false])
    func `a draft becomes a file, or nothing is left of it, with names for drafts and without`(isNameless: Bool)
        throws
    {
        let folder = Folder()
        func refusal(_ name: String, _ replaces: Bool?, _ meanwhile: String? = nil) -> Failure? {
            do throws(Failure) {
                try folder.write(
                    name, "x", replaces: replaces, mayBeNameless: isNameless, meanwhile: meanwhile)
                return nil
            } catch {
                return error
            }
        }
        try folder.write("a", "1", replaces: false, mayBeNameless: isNameless)
        #expect(folder.contents == ["a 1"])
        #expect(
            refusal("a", false)?.hint?.hasPrefix("--replace") == true && refusal("a", nil)?.hint == "name a new one")
        try folder.write("a", "2", replaces: true, mayBeNameless: isNameless)
        #expect(folder.contents == ["a 2"])
        // Given up.
        do { _ = try DraftFile("\(folder.path)/b", replaces: true, mayBeNameless: isNameless) }
        #expect(folder.contents == ["a 2"])
        // Somebody else comes first.
        #expect(refusal("c", false, "echo 3 >c")?.message == "\(folder.path)/c is there already")
        #expect(refusal("d", true, "mkdir d")?.message.hasPrefix("cannot write") == true)
        _ = try Shell.run("rmdir \(folder.path)/d")
        #expect(folder.contents == ["a 2", "c 3"])
        #expect(refusal("none/e", false)?.message.contains("No such file or directory") == true)
        let names = try Shell.run("cd \(folder.path); ls -A").output
        #expect(names == "a\nc\n", "\(names)")
        // Only a draft with a name is seen before it is finished.
        let draft = try DraftFile("\(folder.path)/f", replaces: false, mayBeNameless: isNameless)
        let count = try Shell.run("ls -A \(folder.path) | wc -l").output
        #expect(count == (isNameless ? "2\n" : "3\n"))
        try draft.finish()
    }

    @Test(arguments: [true, false])
    func `a draft stays in the directory where it was begun, whatever is put in that one's place`(isNameless: Bool)
        throws
    {
        let folder = Folder()
        // Somebody else's file has the draft's name in the directory that has taken the place.
        let exchange = """
            mv work aside; mkdir work; for name in $(ls aside); do echo theirs >work/$name; done; echo theirs >work/theirs
            """
        for (name, replaces) in [("a", false), ("b", true)] {
            _ = try Shell.run("cd \(folder.path) && rm -rf work aside && mkdir work")
            try folder.write(
                "work/\(name)", "ours", replaces: replaces, mayBeNameless: isNameless, meanwhile: exchange)
            let found = try Shell.run("cd \(folder.path) && ls -A aside && cat aside/* && cat work/* | sort -u").output
            #expect(found == "\(name)\nourstheirs\n", "\(found)")
        }
        // Given up.
        _ = try Shell.run("cd \(folder.path) && rm -rf work aside && mkdir work")
        do {
            _ = try DraftFileTests.begun("\(folder.path)/work/c", isNameless) {
                _ = try Shell.run("cd \(folder.path) && \(exchange)")
            }
        }
        let left = try Shell.run("cd \(folder.path) && ls -A aside | wc -l; ls -A work | wc -l").output
        #expect(left == (isNameless ? "0\n1\n" : "0\n2\n"), "\(left)")
    }

    private static func begun(_ path: String, _ isNameless: Bool, _ meanwhile: () throws -> Void) throws {
        let draft = try DraftFile(path, replaces: false, mayBeNameless: isNameless)
        try meanwhile()
        _ = consume draft
    }

    @Test func `a file to restore that is none is refused before anything is asked of a daemon`() throws {
        let outcome = try Shell.run(
            """
            \(Shell.daemon)
            mkfifo pipe; mkdir folder
            for name in pipe folder /dev/zero; do timeout 60 kura restore $name --dry-run 2>&1; echo "exit $?"; done
            """)
        #expect(outcome.output.split(separator: "\n").filter { $0 == "exit 1" }.count == 3, "\(outcome.output)")
        #expect(!outcome.output.contains("exit 124"))
    }

    @Test func `what is printed gets into no file, whichever descriptors the program was started without`() throws {
        let outcome = try Shell.run(
            """
            \(Shell.daemon)
            kura -q docs put notes a '{"n":1}'
            for closed in '0<&-' '1>&-' '0<&- 1>&-' '0<&- 1>&- 2>&-'; do
                rm -f all notes
                eval "kura backup all $closed" >/dev/null 2>&1; kura -q restore all --dry-run && echo whole
                eval "kura docs export notes notes $closed" >/dev/null 2>&1; wc -l <notes
            done
            """)
        #expect(outcome.output == String(repeating: "whole\n1\n", count: 4), "\(outcome.output)")
    }

    @Test func `what comes with a reply is a file, and nothing that may be read from for ever`() throws {
        var ends: [Int32] = [-1, -1]
        try #require(pipe(&ends) == 0)
        defer { close(ends[1]) }
        for descriptor in [ends[0], open("/dev/zero", O_RDONLY | O_CLOEXEC), open("/tmp", O_RDONLY | O_CLOEXEC)] {
            let error = #expect(throws: Failure.self) { _ = try ReceivedFile(descriptor) }
            #expect(error?.status == .noDaemon)
        }
    }

    @Test func `a backup that is compared is read`() throws {
        let outcome = try Shell.run(
            """
            \(Shell.daemon)
            kura -q docs put notes a '{"n":1}'; kura -q backup all
            before=$(cksum <all); kura backups compare --file all | jq -c .same
            [[ $before == "$(cksum <all)" ]] && echo untouched
            """)
        #expect(outcome.output == "1\nuntouched\n", "\(outcome.output)")
    }
}
