import KuraBytes
import KuraProtocol

extension Completions {
    var zsh: String {
        func described(_ words: [Word]) -> String {
            words.map { Self.quoted($0.word.replacing(":", with: "\\:") + ":" + $0.summary) }.joined(separator: " ")
        }
        let seconds = seconds.map { head, words in "        \(Self.pattern(head))) words_=(\(described(words))) ;;" }
        let verbs = paths.map { path, verb in
            let files = Self.takesFile(verb) ? " files=yes" : ""
            return "        \(Self.pattern(path))) options=(\(described(options(verb))))\(files) ;;"
        }
        let tools = Tool.all.flatMap { tool in tool.paths.map { (tool, $0) } }.map { tool, path in
            let files = tool.takesFile || tool.takesCommand ? " files=yes" : ""
            return "        \(Self.pattern(path))) options=(\(described(Self.options(tool))))\(files) ;;"
        }
        let chosen = paths.flatMap { path, verb in
            choices(verb).map { option, words in
                "        \(Self.pattern("\(path) \(option)"))) compadd -- \(words.joined(separator: " ")); return ;;"
            }
        }
        return """
            #compdef kura
            # Completion of kura for zsh, made by 'kura completions zsh'.
            _kura() {
                local path_='' files='' i
                local -a words_ options
                for ((i = 2; i < CURRENT; i++)); do
                    case ${words[i]} in
                        \(GlobalOptions.all.filter { $0.value != nil }.map { "--\($0.name)" }.joined(separator: " | "))) ((i++)) ;;
                        -*) ;;
                        *)
                            path_+=${path_:+ }${words[i]}
                            case $path_ in
                                \(singles.map(Self.pattern).joined(separator: " | ")) | *' '*) break ;;
                            esac
                            ;;
                    esac
                done
                case ${words[CURRENT - 1]} in
                    --socket) _files; return ;;
                    --timeout) return ;;
                    --color) compadd -- auto always never; return ;;
                esac
                case "$path_ ${words[CURRENT - 1]}" in
            \(chosen.joined(separator: "\n"))
                esac
                case $path_ in
                    '') words_=(\(described(heads))) ;;
            \(seconds.joined(separator: "\n"))
            \((verbs + tools).joined(separator: "\n"))
                esac
                if [[ $PREFIX == -* ]]; then
                    options+=(\(described(Self.globalOptions)))
                    _describe -o option options
                elif [[ -n $files ]]; then
                    _files
                elif (( $#words_ )); then
                    _describe command words_
                fi
            }
            compdef _kura kura

            """
    }
}
