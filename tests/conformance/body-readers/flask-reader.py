"""Says what Flask makes of a request's body: every name and value, as JSON. The first line of its output is its port."""
import sys
import urllib.parse
import xml.etree.ElementTree

from flask import Flask, jsonify, request
from werkzeug.serving import WSGIRequestHandler, make_server

app = Flask(__name__)
METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"]


def texts_of(value):
    if isinstance(value, dict):
        return [text for name, inner in value.items() for text in [str(name), *texts_of(inner)]]
    if isinstance(value, list):
        return [text for inner in value for text in texts_of(inner)]
    return [str(value)]


@app.route("/form", methods=METHODS)
def form():
    pairs = [text for pair in request.form.items(multi=True) for text in pair]
    files = [text for name, file in request.files.items(multi=True) for text in (name, file.filename or "")]
    return jsonify(pairs + files)


@app.route("/json", methods=METHODS)
def forced():
    return jsonify(texts_of(request.get_json(force=True, silent=True)))


@app.route("/quoted", methods=METHODS)
def quoted():
    return jsonify(texts_of(urllib.parse.parse_qs(request.get_data(as_text=True))))


@app.route("/xml", methods=METHODS)
def document():
    try:
        root = xml.etree.ElementTree.fromstring(request.get_data())
    except Exception:
        return jsonify([])
    return jsonify([text for one in root.iter() for text in [one.text or "", one.tail or "", *one.attrib.values()]])


class Quiet(WSGIRequestHandler):
    protocol_version = "HTTP/1.1"

    def log(self, *args):
        pass


server = make_server("127.0.0.1", 0, app, threaded=True, request_handler=Quiet)
print(server.server_port)
sys.stdout.flush()
server.serve_forever()
