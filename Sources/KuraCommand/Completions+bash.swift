import KuraBytes
import KuraProtocol

extension Completions {
    var bash: String {
        let seconds = seconds.map { head, words in "    \(Self.pattern(head))) words=\(Self.joined(words)) ;;" }
        let verbs = paths.map { path, verb in
            let files = Self.takesFile(verb) ? " files=yes" : ""
            return "    \(Self.pattern(path))) options=\(Self.joined(options(verb)))\(files) ;;"
        }
        let tools = Tool.all.flatMap { tool in tool.paths.map { (tool, $0) } }.map { tool, path in
            let files = tool.takesFile || tool.takesCommand ? " files=yes" : ""
            return "    \(Self.pattern(path))) options=\(Self.joined(Self.options(tool)))\(files) ;;"
        }
        let chosen = paths.flatMap { path, verb in
            choices(verb).map { option, words in
                "    \(Self.pattern("\(path) \(option)"))) words=\(Self.quoted(words.joined(separator: " "))) ;;"
            }
        }
        return """
            # Completion of kura for bash, made by 'kura completions bash'.
            _kura() {
                local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
                local path='' words='' options='' files='' i
                COMPREPLY=()
                # What names the verb: the first words that are neither options nor their values.
                for ((i = 1; i < COMP_CWORD; i++)); do
                    case ${COMP_WORDS[i]} in
                    \(GlobalOptions.all.filter { $0.value != nil }.map { "--\($0.name)" }.joined(separator: " | "))) ((i++)) ;;
                    -*) ;;
                    *)
                        path+=${path:+ }${COMP_WORDS[i]}
                        case $path in
                        \(singles.map(Self.pattern).joined(separator: " | ")) | *' '*) break ;;
                        esac
                        ;;
                    esac
                done
                case $previous in
                --socket)
                    compopt -o default 2>/dev/null
                    return
                    ;;
                --timeout) return ;;
                --color) words='auto always never' ;;
                esac
                case "$path $previous" in
            \(chosen.joined(separator: "\n"))
                esac
                if [[ ! $words ]]; then
                    case $path in
                    '') words=\(Self.joined(heads)) ;;
            \(seconds.joined(separator: "\n"))
            \((verbs + tools).joined(separator: "\n"))
                    esac
                fi
                if [[ $word == -* ]]; then
                    words="$options \(Self.globalOptions.map(\.word).joined(separator: " "))"
                elif [[ $files ]]; then
                    compopt -o default 2>/dev/null
                fi
                while IFS= read -r i; do COMPREPLY+=("$i"); done < <(compgen -W "$words" -- "$word")
            }
            complete -F _kura kura

            """
    }
}
