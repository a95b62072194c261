"""Server-sent events on Starlette: /events counts up, and /state says how many streams are open."""

import asyncio
import sys
import time

import uvicorn
from sse_starlette import EventSourceResponse
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

open_streams = 0


async def count(pause, last):
    global open_streams
    open_streams += 1
    try:
        number = last
        while True:
            number += 1
            yield {"id": str(number), "event": "tick", "data": str(time.time() * 1000)}
            await asyncio.sleep(pause)
    finally:
        open_streams -= 1


async def events(request):
    pause = float(request.query_params.get("pause", "0.2"))
    last = int(request.headers.get("last-event-id", "0"))
    return EventSourceResponse(count(pause, last), ping=1)


async def state(request):
    return JSONResponse({"open": open_streams, "scheme": request.url.scheme, "client": request.client.host})


app = Starlette(routes=[Route("/events", events), Route("/state", state)])
uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")
