# What bash scripts share. A script sets -euo pipefail and sources this file: `. "$(dirname "$0")/lib/common.sh"`.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$root/scripts/lib${PYTHONPATH:+:$PYTHONPATH}

# The comment at the head of the script, as its help.
usage() { sed -n '2,/^[^#]/{/^[^#]/d;s/^# \{0,1\}//;p}' "$0"; }

# Ends with the command that helps unless all these programs are there.
#   needs WORDS-OF-BOOTSTRAP PROGRAM…
needs() {
    local words=$1 program
    shift
    for program in "$@"; do
        command -v "$program" >/dev/null ||
            { echo "${0##*/}: $program is missing; install it with: scripts/bootstrap${words:+ $words}" >&2; exit 2; }
    done
}

# Sets and exports a variable to a built program unless it is set, and ends unless the program is there.
#   program KURAD release|debug kurad
program() {
    local path=${!1:-$root/.build/$2/$3}
    [[ -x $path ]] || {
        local build="swift build --product $3"
        [[ $2 == release ]] && build="scripts/build $3"
        echo "${0##*/}: $path is not there; build it with: $build" >&2
        exit 2
    }
    export "$1=$path"
}
