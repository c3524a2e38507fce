extension Method {
    static let compactionMethods: [Method] = [
        Method(
            "storage.compact", .storage, .write, needs: .whole(.admin),
            "Gives all pages of the database files that nothing uses any more back to the file system, while the daemon serves.",
            result: [
                Field("before", .count, required: true, "Bytes of the files, with their WALs, when it began."),
                Field("after", .count, required: true, "Bytes of the same files at the end."),
                Field(
                    "files",
                    .list(
                        of: .object([
                            Field("name", .text(maxBytes: 256), required: true, "The file, below the data directory."),
                            Field("before", .count, required: true, "Its bytes when it began."),
                            Field("after", .count, required: true, "Its bytes at the end."),
                        ]), maxItems: 100_000), required: true, "Each of them, in the order of their names."),
                .nowRev,
            ], errors: [.noSpace, .overloaded, .shuttingDown], outOfBand: true, apart: true)
    ]
}
