"""A Flask app: ``/?3`` answers after three seconds."""

import time

from flask import Flask, request

app = Flask(__name__)


@app.get("/")
def index() -> str:
    """Answer after the seconds of the query."""
    time.sleep(float(request.query_string or 0))
    return "ok"
