import KuraBytes
import KuraProtocol

/// Completion scripts: they hand the words before the cursor to `kura completions next`, and show what it prints.
///
/// So the three shells know the same, all that the method table knows, and what the daemon has, too.
enum Completions {
    enum Shell: String, CaseIterable { case bash, zsh, fish }

    /// The script for the shell that is the only one of `words`.
    static func script(_ words: [String]) throws(Failure) -> String {
        let names = Shell.allCases.map(\.rawValue)
        guard words.count == 1, let shell = Shell(rawValue: words[0]) else {
            throw .usage(
                "completions needs the name of a shell: \(names.joined(separator: ", "))",
                hint: words.first.flatMap { Suggestion.hint(for: $0, among: names) })
        }
        return switch shell {
        case .bash: bash
        case .zsh: zsh
        case .fish: fish
        }
    }

    /// bash takes `=` and `:` for ends of words: the pieces are put together again, and what it has already is cut off the answers.
    private static let bash = """
        # Completion of kura for bash, made by 'kura completions bash'.
        _kura() {
            local line=${COMP_LINE:0:COMP_POINT} word='' piece='' held='' item i words=() places=() reply=()
            COMPREPLY=()
            for ((i = 0; i <= COMP_CWORD; i++)); do
                piece=${COMP_WORDS[i]}
                if ((i > 0)) && [[ $line != [[:space:]]* ]]; then
                    words[-1]+=$piece
                else
                    words+=("$piece")
                    places+=("$i")
                fi
                line=${line#"${line%%[![:space:]]*}"}
                line=${line#"$piece"}
            done
            for i in "${!words[@]}"; do words[i]=${words[i]//[\\'\\"\\\\]/}; done
            word=${words[-1]}
            [[ $piece == [=:]* ]] && piece=''
            held=${word%"${piece//[\\'\\"\\\\]/}"}
            mapfile -t reply < <(command kura completions next "${words[@]:1}" 2>/dev/null)
            case ${reply[0]-} in
            files) compopt -o default ;;
            directories) compopt -o dirnames ;;
            command*)
                i=${reply[0]#command }
                if ((i == ${#words[@]} - 1)); then
                    mapfile -t COMPREPLY < <(compgen -c -- "$word")
                elif declare -F _command_offset >/dev/null; then
                    _command_offset "${places[i]}"
                else
                    compopt -o default
                fi
                ;;
            *)
                for item in "${reply[@]:1}"; do
                    item=${item%%$'\\t'*}
                    [[ $item == "$word"* ]] || continue
                    item=${item#"$held"}
                    [[ $item == *[=:] ]] && compopt -o nospace
                    [[ $item =~ ^[[:alnum:]_.,:=/@+-]*$ ]] || printf -v item %q "$item"
                    COMPREPLY+=("$item")
                done
                ;;
            esac
        }
        complete -F _kura kura

        """

    /// Autoloaded or sourced.
    private static let zsh = """
        #compdef kura
        # Completion of kura for zsh, made by 'kura completions zsh'.
        _kura() {
            local line mode
            local -a reply_ whole open
            reply_=("${(@f)$(command kura completions next "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}")
            mode=$reply_[1]
            case $mode in
                files|directories)
                    compset -P '--[^=]#='
                    if [[ $mode == files ]]; then _files; else _files -/; fi
                    ;;
                command*)
                    local -i skipped=${mode#command }
                    shift skipped words
                    (( CURRENT -= skipped ))
                    _normal
                    ;;
                words)
                    for line in "${(@)reply_[2,-1]}"; do
                        # Word and description, as _describe wants them.
                        local entry=${${line%%$'\\t'*}//:/\\\\:}
                        [[ $line == *$'\\t'* ]] && entry+=:${line#*$'\\t'}
                        if [[ ${line%%$'\\t'*} == *[=:] ]]; then open+=("$entry"); else whole+=("$entry"); fi
                    done
                    local -i found=1
                    (( $#whole )) && _describe kura whole && found=0
                    (( $#open )) && _describe kura open -S '' && found=0
                    return found
                    ;;
            esac
        }
        if [[ ${funcstack[1]} == _kura ]]; then _kura "$@"; else compdef _kura kura; fi

        """

    private static let fish = """
        # Completion of kura for fish, made by 'kura completions fish'.
        function __kura_next
            set -l given (commandline -opc)
            set -l current (commandline -ct)
            set -l reply (command kura completions next $given[2..-1] $current 2>/dev/null)
            # An empty word is none to a command line.
            test -n "$current"; or set reply (command kura completions next $given[2..-1] '' 2>/dev/null)
            switch "$reply[1]"
                case files
                    set -l option (string match -r -- '^--[^=]+=' $current)
                    string replace -r -- '^' "$option" (__fish_complete_path (string replace -- "$option" '' $current))
                case directories
                    set -l option (string match -r -- '^--[^=]+=' $current)
                    string replace -r -- '^' "$option" (__fish_complete_directories (string replace -- "$option" '' $current))
                case 'command *'
                    set -l from (math (string replace 'command ' '' $reply[1]) + 1)
                    set -l words $given[$from..-1]
                    complete -C (string join ' ' -- (string escape -- $words) "$current")
                case words
                    printf '%s\\n' $reply[2..-1]
            end
        end
        complete -c kura -f -a '(__kura_next)'

        """
}
