import Testing

@testable import KuraCommand

/// Contents that come by descriptor and are not what they were.
@Suite struct DamagedContentTests {
    /// A daemon with an attachment and a large blob of one content, `good`; then a byte of both is another one.
    private static let script = """
        work=$(mktemp -d); cd "$work"
        export KURA_SOCKET=$work/kura.sock KURA_MIN_FREE_BYTES=0
        trap 'kill $daemon 2>/dev/null; wait $daemon 2>/dev/null; rm -rf "$work"' EXIT
        kurad --data-dir data --profile small 2>log &
        daemon=$!
        for _ in {1..6000}; do kura -q ping 2>/dev/null && break; sleep 0.01; done
        head -c 50000 /dev/zero >good; echo other >other
        kura docs put n a 1 -q; kura docs attach n a x good -q; kura docs put n b 1 -q
        kura docs attach n b y other -q; kura blobs put img a good -q
        kura docs attachment n a x same -q; cmp same good && echo 'whole'
        for file in $(find data/durable/attachments data/cache/blobs -type f -size +40k); do
            chmod 600 $file; printf X | dd of=$file conv=notrunc bs=1 seek=7 2>/dev/null; chmod 400 $file
        done

        """

    @Test func `nothing is shown of a content by descriptor that is not what its digest says`() throws {
        let outcome = try Shell.run(
            Self.script + """
                try() { "$@" >out 2>told; echo "exit $? $(wc -c <out) $(head -1 told | cut -d: -f1-3)"; }
                try kura docs attachment n a x new
                try kura docs attachment n a x -
                try kura docs attachment n a x new --json
                try kura blobs get img a new
                ls new 2>/dev/null
                kura docs attachment n b y - >out; cmp out other && echo 'the other is whole'
                # A part is not hashed.
                try kura blobs get img a part --range offset=100,length=5 -q
                kura docs attach n a x good -q; kura docs attachment n a x new -q; cmp new good && echo 'whole again'
                """)
        #expect(
            outcome.output == """
                whole
                exit 1 0 kura: integrity: the content is damaged
                exit 1 0 kura: integrity: the content is damaged
                exit 1 0 kura: integrity: the content is damaged
                exit 1 0 kura: integrity: the content is damaged
                the other is whole
                exit 0 0\u{20}
                whole again

                """, "\(outcome.output)")
    }

    @Test func `exports and backups that have left a damaged attachment out say so, by their status also`() throws {
        let outcome = try Shell.run(
            Self.script + """
                kura docs export n lines --attachments >/dev/null 2>told; echo "exit $? $(head -1 told)"
                kura docs export n - --attachments >lines 2>told; echo "exit $? $(wc -l <lines) $(sed -n 2p told)"
                kura docs export n - >/dev/null 2>told; echo "exit $?"
                kura backup all >out 2>told; echo "exit $? $(head -1 told) $(grep -c damaged out)"
                kura storage backup all -q; echo "exit $?"
                """)
        #expect(
            outcome.output == """
                whole
                exit 11 kura: attachments of 1 document are damaged or gone
                exit 11 2 kura: attachments of 1 document are damaged or gone
                exit 0
                exit 11 kura: 1 attachment is damaged or gone, and not in it 1
                exit 11

                """, "\(outcome.output)")
    }
}
