import Foundation
import KuraClient

/// Keeps a picture of each note as a blob. It remembers how far it came, in the same place as the workers in Python
/// (clients/python/examples) and bash (clients/bash): each goes on where another has stopped.
struct Worker {
    private struct Place: Codable {
        var rev: Int64
        var epoch: String
    }

    private let kura: Kura
    private let pictures: BlobCache

    init(_ kura: Kura) {
        self.kura = kura
        pictures = kura.blobs["thumbnails"]
    }

    func run() async throws {
        let place = try await remembered()
        let changes = kura.changes(.documents("notes", values: true), afterRev: place?.rev, epoch: place?.epoch)
        if place == nil { try await makeAll() }
        for try await event in changes {
            switch event {
            case .changes(let changes, rev: _): for change in changes { try await take(change) }
            case .resync: try await makeAll()
            case .progress: continue
            }
            if let (rev, epoch) = changes.place { try await remember(Place(rev: rev, epoch: epoch)) }
        }
    }

    private func take(_ change: Change) async throws(KuraError) {
        guard let id = change.key else {
            // The collection was dropped.
            for try await picture in pictures.list() { try await pictures.delete(picture.key) }
            return
        }
        if change.isDeleted {
            try await pictures.delete(id)
        } else if let value = change.value {
            try await make(id, value)
        }
    }

    /// By the method itself: what `kura.documents` reads has its id within, and not everybody who writes notes sees to that.
    private func makeAll() async throws(KuraError) {
        var cursor: String?
        repeat {
            let page = try await kura.call("documents.list", Request(cursor: cursor), returning: Page.self)
            for note in page.documents { try await make(note.id, note.value) }
            cursor = page.cursor
        } while cursor != nil
    }

    private func make(_ id: String, _ note: RawJSON) async throws(KuraError) {
        guard let text = try? note.decode(Text.self).text else { return }
        switch try await pictures.put(Picture.of(text), as: id, .init(contentType: Picture.contentType)) {
        case .stored(let info): say("\(id): \(info.bytes) bytes")
        case .declined(let reason): say("\(id): not stored (\(reason))")
        }
    }

    /// Of a note no more than is needed, so that whatever else others write there is no matter.
    private struct Text: Decodable {
        var text: String
    }

    private struct Request: Encodable {
        var collection = "notes"
        var cursor: String?
    }

    private struct Page: Decodable {
        struct Document: Decodable {
            var id: String
            var value: RawJSON
        }

        var documents: [Document]
        var cursor: String?
    }

    // MARK: How far it came

    private var progress: DomainSettings { kura.settings["thumbnailer-notes"] }

    private func remembered() async throws(KuraError) -> Place? { try await progress.get("place") }

    private func remember(_ place: Place) async throws(KuraError) { try await progress.put("place", place) }
}
