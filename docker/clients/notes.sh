#!/usr/bin/env bash
# Writes a note a second. The sidecar may go and come back: what was not answered is sent again under the same request key, which
# the daemon answers without doing it twice.
set -euo pipefail
socket=${KURA_SOCKET:-/run/kura/app/kura.sock}

# Socat does not tell who listens, but a file tells who has made it: the daemon's user, whom KURA_PEER_UID names, and nobody else.
check() {
    local owner
    owner=$(stat -c %u "$socket" 2>/dev/null) || return
    [[ ",${KURA_PEER_UID:-$owner}," == *",$owner,"* ]] && return
    echo "user $owner has made $socket, and user $KURA_PEER_UID is expected: nothing was sent" >&2
    exit 1
}

# Sends one request until it is answered, and prints its result.
request() {
    local line=$1 reply
    until check && reply=$(socat -t 60 - "UNIX-CONNECT:$socket" <<<"$line" 2>/dev/null) && [[ $reply ]]; do
        echo "the sidecar is away" >&2
        sleep 0.2
    done
    jq -ce '.result // error(.error.message)' <<<"$reply"
}

for ((note = 1; ; note++)); do
    line=$(jq -nc --arg key "$HOSTNAME-$note" --arg text "note $note of $HOSTNAME" '{jsonrpc: "2.0", id: 1,
        method: "documents.put", params: {collection: "notes", value: {text: $text}, requestKey: $key}}')
    request "$line"
    sleep "${SECONDS_BETWEEN:-1}"
done
