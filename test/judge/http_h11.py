"""Which requests does h11 see in these bytes? h11 is written from the RFCs and shares
no code with llhttp.

One case per line on stdin: {"segments": [base64, ...]}; one answer per line:
{"requests": [{"method", "url", "version", "headers", "body"}], "refusal", "begun"}.
"""

import base64
import json
import sys

import h11



def answer(method):
    # 2xx to CONNECT would make a tunnel.
    return h11.Response(status_code=405 if method == b"CONNECT" else 200, headers=[("Content-Length", "0")])


def text(value):
    return bytes(value).decode("latin1")


class Case:
    def __init__(self):
        self.conn = h11.Connection(h11.SERVER)
        self.requests = []
        self.refusal = None
        self.begun = 0
        self.head = None
        self.body = b""

    def take(self, event):
        if isinstance(event, h11.Request):
            self.head, self.body = event, b""
            self.begun += 1
        elif isinstance(event, h11.Data):
            self.body += bytes(event.data)
        elif isinstance(event, h11.EndOfMessage):
            self.finish()

    def finish(self):
        head = self.head
        headers = [text(part) for pair in head.headers.raw_items() for part in pair]
        self.requests.append({
            "method": text(head.method), "url": text(head.target), "version": text(head.http_version),
            "headers": headers, "body": base64.b64encode(self.body).decode(),
        })
        self.conn.send(answer(head.method))
        self.conn.send(h11.EndOfMessage())
        if self.conn.our_state is h11.DONE:
            self.conn.start_next_cycle()

    def read(self, data):
        self.conn.receive_data(data)
        while True:
            event = self.conn.next_event()
            if event in (h11.NEED_DATA, h11.PAUSED) or isinstance(event, h11.ConnectionClosed):
                return
            self.take(event)

    def run(self, segments):
        try:
            for segment in segments:
                self.read(base64.b64decode(segment))
        except h11.RemoteProtocolError as error:
            self.refusal = str(error) or "malformed"
        return {"requests": self.requests, "refusal": self.refusal, "begun": self.begun}


for line in sys.stdin:
    print(json.dumps(Case().run(json.loads(line)["segments"])), flush=True)
