#!/usr/bin/env python3
"""A server for the example: three headlines, for who has the token.

usage: origin.py [--port PORT] [--token TOKEN]     (prints its address; each request is a line)
"""

import argparse
import hashlib
import http.server
import json

parser = argparse.ArgumentParser(description="Serves headlines to who has the token.")
parser.add_argument("--port", type=int, default=0)
parser.add_argument("--token", default="open sesame")
options = parser.parse_args()
BODY = json.dumps({"headlines": ["Rice is in", "The gate is mended", "Nothing else happened"]}).encode()
ETAG = f'"{hashlib.sha256(BODY).hexdigest()[:12]}"'


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.headers.get("Authorization") != f"Bearer {options.token}":
            self.send_response(401)
        elif self.headers.get("If-None-Match") == ETAG:
            self.send_response(304)
        else:
            self.send_response(200)
            self.send_header("ETag", ETAG)
            self.send_header("Content-Length", str(len(BODY)))
            self.end_headers()
            self.wfile.write(BODY)
            return
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_request(self, code: object = "-", size: object = "-") -> None:
        print(f"{self.path} {getattr(code, 'value', code)}", flush=True)


server = http.server.ThreadingHTTPServer(("127.0.0.1", options.port), Handler)
print(f"http://127.0.0.1:{server.server_address[1]}/", flush=True)
try:
    server.serve_forever()
except KeyboardInterrupt:
    pass
