#!/usr/bin/env bash
# Writes a note a second. The sidecar may go and come back: what was not answered is sent again under the same request key, which
# the daemon answers without doing it twice.
set -euo pipefail
socket=${KURA_SOCKET:-/run/kura/app/kura.sock}

# Sends one request until it is answered, and prints its result.
request() {
    local line=$1 reply
    until reply=$(socat -t 60 - "UNIX-CONNECT:$socket" <<<"$line" 2>/dev/null) && [[ $reply ]]; do
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
