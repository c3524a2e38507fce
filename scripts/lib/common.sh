# What bash scripts share. A script sets -euo pipefail and sources this file: `. "$(dirname "$0")/lib/common.sh"`.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$root/scripts/lib${PYTHONPATH:+:$PYTHONPATH}
# Debian leaves these out of a user's PATH.
export PATH=$PATH:/usr/sbin:/sbin

# The comment at the head of the script, as its help.
usage() { sed -n '2,/^[^#]/{/^[^#]/d;s/^# \{0,1\}//;p}' "$0"; }

# Whether a program, a header or a file is there; scripts/lib/packages says how each is written.
has() {
    local folder folders=${CPATH:-}
    case $1 in
    */*) compgen -G "$1" >/dev/null ;;
    *.h)
        for folder in ${folders//:/ } /usr/local/include /usr/include; do
            [[ ! -f $folder/$1 ]] || return 0
        done
        return 1
        ;;
    # Debian has two programs called nc; only this one speaks to Unix sockets.
    nc) [[ $(nc -h 2>&1) == *OpenBSD* ]] ;;
    *) command -v "$1" >/dev/null ;;
    esac
}

# Prints what of the rows of scripts/lib/packages with one of these words is not there, and the package that brings it.
missing() {
    local word thing package
    while read -r word thing package; do
        [[ " $* " != *" $word "* ]] || has "$thing" || echo "$thing $package"
    done <"$root/scripts/lib/packages"
}

# Ends with the command that helps unless all these programs, headers or files are there.
#   needs WORDS-OF-BOOTSTRAP PROGRAM…
needs() {
    local words=$1 thing
    shift
    for thing in "$@"; do
        has "$thing" ||
            { echo "${0##*/}: $thing is missing; install it with: scripts/bootstrap${words:+ $words}" >&2; exit 2; }
    done
}

# The same for all that a build needs: the compiler would say "could not build C module" and the like.
needs_to_build() {
    local thing
    needs "" swift
    ! read -r thing _ < <(missing build) || needs "" "$thing"
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

# Sets and exports KURAD to a daemon that is built, release or debug, unless it is set; ends unless it is there.
any_kurad() {
    [[ ${KURAD:-} || ! -x $root/.build/release/kurad ]] || KURAD=$root/.build/release/kurad
    program KURAD debug kurad
    KURAD=$(realpath "$KURAD")
}
