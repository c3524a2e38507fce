import KuraBytes
import KuraProtocol

extension Completions {
    var fish: String {
        var lines = [
            "# Completion of kura for fish, made by 'kura completions fish'.",
            """
            function __kura_path
                set -l path
                set -l skip no
                for word in (commandline -opc)[2..-1]
                    if test $skip = yes
                        set skip no
                        continue
                    end
                    switch $word
                        case \(GlobalOptions.all.filter { $0.value != nil }.map { "--\($0.name)" }.joined(separator: " "))
                            set skip yes
                        case '-*'
                        case '*'
                            set -a path $word
                            contains -- "$path" \(singles.joined(separator: " ")); and break
                            test (count $path) -ge 2; and break
                    end
                end
                echo "$path"
            end
            """,
            "complete -c kura -f",
        ]
        func condition(_ path: String) -> String { "complete -c kura -n 'test (__kura_path) = \"\(path)\"'" }
        for (word, summary) in heads { lines.append("\(condition("")) -a \(word) -d \(Self.quoted(summary))") }
        for (head, words) in seconds {
            for (word, summary) in words {
                lines.append("\(condition(head)) -a \(word) -d \(Self.quoted(summary))")
            }
        }
        for (path, verb) in paths {
            let chosen = choices(verb)
            for (option, summary) in options(verb) {
                let parameter = verb.parameter(option: String(option.dropFirst(2)))
                let words = chosen.first { $0.option == option }?.words
                let isFlag =
                    parameter?.isBare ?? !verb.ownOptions.contains { "--\($0.name)" == option && $0.value != nil }
                let value = words.map { " -x -a \(Self.quoted($0.joined(separator: " ")))" } ?? (isFlag ? "" : " -x")
                lines.append("\(condition(path)) -l \(option.dropFirst(2))\(value) -d \(Self.quoted(summary))")
            }
            if Self.takesFile(verb) { lines.append("\(condition(path)) -F") }
        }
        for (tool, path) in Tool.all.flatMap({ tool in tool.paths.map { (tool, $0) } }) {
            for option in tool.options {
                let value =
                    option.value == nil ? "" : ["env", "file", "setting"].contains(option.name) ? " -x" : " -r -F"
                lines.append("\(condition(path)) -l \(option.name)\(value) -d \(Self.quoted(option.summary))")
            }
            if tool.takesFile || tool.takesCommand { lines.append("\(condition(path)) -F") }
        }
        for option in GlobalOptions.all {
            let value: String
            switch option.name {
            case "socket": value = " -r -F"
            case "color": value = " -x -a 'auto always never'"
            default: value = option.value == nil ? "" : " -x"
            }
            lines.append("complete -c kura -l \(option.name)\(value) -d \(Self.quoted(option.summary))")
        }
        return lines.joined(separator: "\n") + "\n"
    }
}
