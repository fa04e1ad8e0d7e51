"""A feed over a WebSocket: 8 kB twenty times a second."""

import asyncio
import os
import sys

import websockets

from clock import Clock, there

PORT = 8080
EVERY = 0.05
BYTES = 8000


async def serve(directory, address):
    async def feed(socket):
        clock = Clock(directory, EVERY)
        number = 0
        while True:
            await asyncio.sleep(clock.left(number))
            await socket.send(number.to_bytes(8, "big") + os.urandom(BYTES - 8))
            number += 1

    async with websockets.serve(feed, address, PORT, compression=None, ping_interval=None):
        await asyncio.Future()


async def watch(directory, address):
    uri = f"ws://{address}:{PORT}"
    async with websockets.connect(uri, compression=None, ping_interval=None) as socket:
        async for message in socket:
            there(int.from_bytes(message[:8], "big"))


role, directory, address = sys.argv[1:]
asyncio.run({"serve": serve, "watch": watch}[role](directory, address))
