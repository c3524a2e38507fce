import KuraProtocol

/// The write bill as a page: one file with its style and its charts inside, for light and dark screens.
struct DiskWritesPage {
    private let bills: [WriteBillView]
    private static let kept = Method.Store.durable.words + Method.Store.caches.words
    private static let stores = kept + ["upkeep"]
    private static let (width, height, left, bottom) = (860, 260, 70, 28)

    /// `bills`: the same window by several groupings.
    init(_ bills: [WriteBillView]) {
        self.bills = bills
    }

    var html: String {
        guard let bill = bills.first else { return "" }
        let facts = bill.facts.map { "<dt>\(Self.escaped($0.0))</dt><dd>\(Self.escaped($0.1))</dd>" }.joined(
            separator: "\n")
        return """
            <!DOCTYPE html>
            <html lang="en">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <title>Kura: written in the last \(Self.escaped(bill.window))</title>
            <style>\(Self.style)</style>
            </head>
            <body>
            <h1>Written in the last \(Self.escaped(bill.window))</h1>
            <dl>\(facts)</dl>
            \(chart(bill))
            \(bill.findings.html)
            \(bills.map(table).joined(separator: "\n"))
            \(bill.findings.filesHTML)
            </body>
            </html>

            """
    }

    private static let style = """
        :root{color-scheme:light dark;--ink:#1c1c1e;--paper:#fff;--faint:#d8d8dc;\
        \(colours(["#2f6fde", "#b8497f", "#2a9d6f", "#d98a1f", "#7c5cc4", "#3a9fb5"]))--upkeep:#8a8a90}
        @media (prefers-color-scheme:dark){:root{--ink:#ececf0;--paper:#17171a;--faint:#3a3a40;\
        \(colours(["#6c9cf5", "#e07fae", "#5fc79b", "#f0b35c", "#a98ff0", "#6cc7dc"]))--upkeep:#9a9aa2}}
        body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);max-width:60rem;margin:2rem auto;padding:0 1rem}
        h1{font-size:1.5rem}h2{font-size:1.1rem;margin-top:2rem}
        dl{display:grid;grid-template-columns:max-content 1fr;gap:.1rem 1rem}dt{font-weight:600}dd{margin:0}
        svg{width:100%;height:auto}svg text{fill:var(--ink);font-size:11px}svg line{stroke:var(--faint)}
        table{border-collapse:collapse;width:100%}th,td{text-align:left;padding:.25rem .6rem;border-bottom:1px solid var(--faint)}
        td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}
        .report{border-left:4px solid var(--models);padding:.1rem 1rem;margin-top:1.5rem}.report h2{margin-top:.4rem}
        .key span{display:inline-block;margin-right:1rem}.key i{display:inline-block;width:.8rem;height:.8rem;margin-right:.3rem}
        """

    /// A colour for each store.
    private static func colours(_ colours: [String]) -> String {
        kept.enumerated().map { "--\($1):\(colours[$0 % colours.count]);" }.joined()
    }

    /// Bars of the intervals, stacked by store.
    private func chart(_ bill: WriteBillView) -> String {
        let most = max(1, bill.series.map { $0.parts.reduce(Int64(0)) { $0.plus($1.bytes) } }.max() ?? 1)
        let (plotWidth, plotHeight) = (Self.width - Self.left, Self.height - Self.bottom - 8)
        let step = Double(plotWidth) / Double(max(1, bill.series.count))
        let bar = min(step * 0.8, 48)
        var marks = ""
        for quarter in 0...4 {
            let y = 8 + plotHeight - plotHeight * quarter / 4
            marks += "<line x1=\"\(Self.left)\" x2=\"\(Self.width)\" y1=\"\(y)\" y2=\"\(y)\"/>"
            marks +=
                "<text x=\"\(Self.left - 6)\" y=\"\(y + 4)\" text-anchor=\"end\">\(ByteText.size(most * Int64(quarter) / 4))</text>"
        }
        // As many labels as have room.
        let every = max(1, Int((60 / step).rounded(.up)))
        for (index, interval) in bill.series.enumerated() {
            let x = Double(Self.left) + step * Double(index)
            var y = Double(8 + plotHeight)
            for store in Self.stores {
                guard let part = interval.parts.first(where: { $0.name == store }), part.bytes > 0 else { continue }
                let height = Double(plotHeight) * Double(part.bytes) / Double(most)
                y -= height
                marks +=
                    "<rect x=\"\(Self.number(x + (step - bar) / 2))\" y=\"\(Self.number(y))\" width=\"\(Self.number(bar))\" "
                    + "height=\"\(Self.number(height))\" fill=\"var(--\(store))\"><title>\(Self.escaped(bill.label(interval))) \(store): "
                    + "\(ByteText.size(part.bytes))</title></rect>"
            }
            if index % every == 0 {
                marks +=
                    "<text x=\"\(Self.number(x + step / 2))\" y=\"\(Self.height - 8)\" text-anchor=\"middle\">"
                    + "\(Self.escaped(bill.label(interval)))</text>"
            }
        }
        let names = Self.stores.filter { store in
            bill.series.contains { $0.parts.contains { $0.name == store && $0.bytes > 0 } }
        }
        let key = names.map { "<span><i style=\"background:var(--\($0))\"></i>\($0)</span>" }.joined()
        return
            "<h2>When</h2>\n<p class=\"key\">\(key)</p>\n<svg viewBox=\"0 0 \(Self.width) \(Self.height)\" role=\"img\" "
            + "aria-label=\"Bytes written by store\">\(marks)</svg>"
    }

    private func table(_ bill: WriteBillView) -> String {
        let isSketch = bill.grouping == "key" || bill.grouping == "scope"
        guard !bill.groups.isEmpty else { return "" }
        let all = max(1, bill.total("bytes"))
        let rows = bill.groups.map { group in
            let name = "<td>\(Self.escaped(WriteBillView.name(group.name)))</td>"
            let asked = "<td class=\"n\">\(group.changes)</td><td class=\"n\">\(ByteText.size(group.logicalBytes))</td>"
            guard let bytes = group.bytes else {
                return "<tr>\(name)<td>\(Self.escaped(group.place))</td>\(asked)</tr>"
            }
            return
                "<tr>\(name)\(asked)<td class=\"n\">\(ByteText.size(bytes))</td><td class=\"n\">\(bytes * 100 / all) %</td></tr>"
        }
        .joined(separator: "\n")
        let heads =
            isSketch
            ? "<th>in</th><th class=\"n\">changes</th><th class=\"n\">asked for</th>"
            : "<th class=\"n\">changes</th><th class=\"n\">asked for</th><th class=\"n\">written</th><th class=\"n\">share</th>"
        return "<h2>By \(bill.grouping)</h2>\n<table><tr><th>\(bill.grouping)</th>\(heads)</tr>\n\(rows)</table>"
    }

    /// With one digit behind the point.
    private static func number(_ value: Double) -> String {
        let tenths = Int((value * 10).rounded())
        return "\(tenths / 10).\(abs(tenths % 10))"
    }

    static func escaped(_ text: String) -> String {
        var result = ""
        for character in text.unicodeScalars {
            switch character {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            default: result.unicodeScalars.append(character)
            }
        }
        return result
    }
}
