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
