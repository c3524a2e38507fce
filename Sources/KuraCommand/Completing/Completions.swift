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

    /// bash splits words at `=` and `:`. The script joins the pieces, and cuts from each answer the part that bash already has.
    /// bash inserts answers without quoting them, so the script quotes them itself, in the style of a quote that is still open.
    private static let bash = """
        # Completion of kura for bash, made by 'kura completions bash'.

        # Takes the quotes off $1 and runs nothing: what is left is in $plain, and in $open the quote that does not end.
        _kura_unquote() {
            local rest=$1 character
            plain='' open=''
            while [[ $rest ]]; do
                character=${rest:0:1}
                rest=${rest:1}
                if [[ $character == "$open" ]]; then
                    open=''
                elif [[ ! $open && $character == [\\'\\"] ]]; then
                    open=$character
                elif [[ $character == \\\\ && $open != \\' ]]; then
                    [[ $open && $rest != [\\"\\\\\\$\\`]* ]] && plain+=\\\\
                    plain+=${rest:0:1}
                    rest=${rest:1}
                else
                    plain+=$character
                fi
            done
        }

        # Puts the quotes into $item that it needs behind what is typed, in which the quote $open may be open.
        _kura_quote() {
            local from to
            case $open in
            \\')
                from=\\' to="'\\\\''"
                item=${item//"$from"/"$to"}
                ;;
            \\")
                for from in \\\\ \\" \\$ \\`; do
                    to=\\\\$from
                    item=${item//"$from"/"$to"}
                done
                # Between quotes a backslash would stay before it.
                from=! to='"\\!"'
                item=${item//"$from"/"$to"}
                ;;
            *) [[ $item =~ ^[[:alnum:]_.,:=/@+-]*$ ]] || printf -v item %q "$item" ;;
            esac
            # readline takes a quote at either end for the one that is open, or that closes it.
            [[ $open && $item == "$open"* ]] && item=$open$item
            [[ $open && $item == *"$open" ]] && item+=$open
        }

        _kura() {
            local line=${COMP_LINE:0:COMP_POINT} word='' piece='' held='' plain='' open='' item i words=() places=() reply=()
            COMPREPLY=()
            for ((i = 0; i <= COMP_CWORD; i++)); do
                piece=${COMP_WORDS[i]}
                # Of the last one, what stands before the cursor.
                ((i == COMP_CWORD)) && piece=${line#"${line%%[![:space:]]*}"}
                if ((i > 0)) && [[ $line != [[:space:]]* ]]; then
                    words[-1]+=$piece
                else
                    words+=("$piece")
                    places+=("$i")
                fi
                line=${line#"${line%%[![:space:]]*}"}
                line=${line#"$piece"}
            done
            # What the answers take the place of is $2.
            piece=${words[-1]%"$2"}
            for i in "${!words[@]}"; do
                _kura_unquote "${words[i]}"
                words[i]=$plain
            done
            word=${words[-1]}
            _kura_unquote "$piece"
            held=$plain
            mapfile -t reply < <(command kura completions next "${words[@]:1}" 2>/dev/null)
            case ${reply[0]-} in
            files) compopt -o default ;;
            directories) compopt -o dirnames ;;
            command*)
                i=${reply[0]#command }
                if ((i == ${#words[@]} - 1)); then
                    mapfile -t -O 1 reply < <(compgen -c -- "$word")
                elif declare -F _command_offset >/dev/null; then
                    _command_offset "${places[i]}"
                else
                    compopt -o default
                fi
                ;;
            esac
            for item in "${reply[@]:1}"; do
                item=${item%%$'\\t'*}
                [[ $item == "$word"* ]] || continue
                item=${item#"$held"}
                [[ $item == *[=:] ]] && compopt -o nospace
                _kura_quote
                COMPREPLY+=("$item")
            done
        }
        complete -F _kura kura

        """

    /// Autoloaded or sourced.
    private static let zsh = """
        #compdef kura
        # Completion of kura for zsh, made by 'kura completions zsh'.
        _kura() {
            # Read with the quote that is still open, closed.
            local line mode typed="$QIPREFIX$PREFIX${QIPREFIX[-1]}"
            local -a reply_ whole open
            reply_=("${(@f)$(command kura completions next "${(@Q)words[2,CURRENT-1]}" "${(Q)typed}" 2>/dev/null)}")
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
                        local entry=${${${line%%$'\\t'*}//\\\\/\\\\\\\\}//:/\\\\:}
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
            set -l typed (commandline -ct)
            # Without its quotes, of which one may still be open.
            set -l current (string unescape -- "$typed"; or string unescape -- "$typed'"; or string unescape -- "$typed\\"")
            set -l reply (command kura completions next $given[2..-1] "$current" 2>/dev/null)
            switch "$reply[1]"
                case files directories
                    set -l option (string match -r -- '^--[^=]+=' "$typed")
                    set -l value (string replace -- "$option" '' "$typed")
                    set -l wanted '*'
                    test $reply[1] = directories; and set wanted '*/'
                    complete -C "'' $value" | string match -- $wanted | string replace -r -- '^' "$option"
                case 'command *'
                    set -l from (math (string replace 'command ' '' $reply[1]) + 1)
                    set -l words $given[$from..-1]
                    complete -C (string join ' ' -- (string escape -- $words) "$typed")
                case words
                    # fish sets no backslash before the ~ that a word begins with, and would read it as a home.
                    string match -qr '^[\\'"\\\\\\\\]' -- "$typed"; or set reply (string match -v -- '~*' $reply)
                    printf '%s\\n' $reply[2..-1]
            end
        end
        complete -c kura -f -a '(__kura_next)'

        """
}
