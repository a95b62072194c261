// Reads recorded connections as Node's parser, llhttp, does: node.mjs FILE. One line of JSON for each connection.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { Duplex } from "node:stream";

const LEFT_OUT = new Set(["host", "connection", "content-length", "transfer-encoding", "trailer"]);
const server = createServer();
server.keepAliveTimeout = 0;
server.requestTimeout = 0;
server.headersTimeout = 0;
server.on("request", take);
server.on("checkContinue", take);
server.on("checkExpectation", take);
server.on("upgrade", (_request, socket) => refuse(socket));
server.on("connect", (_request, socket) => refuse(socket));
server.on("clientError", (_error, socket) => refuse(socket));

function refuse(socket) {
  socket.isRefused = true;
  socket.destroy();
}

function fieldsOf(raw) {
  const fields = [];
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i].toLowerCase();
    if (!LEFT_OUT.has(name)) fields.push(`${name}: ${raw[i + 1]}`);
  }
  return fields.sort();
}

function take(request, response) {
  const { socket } = request;
  const hash = createHash("sha256");
  const message = { method: request.method, target: request.url, host: request.headers.host ?? "" };
  request.on("data", (part) => hash.update(part));
  request.on("end", () => {
    const trailers = fieldsOf(request.rawTrailers);
    socket.messages.push({ ...message, fields: fieldsOf(request.rawHeaders), body: hash.digest("hex"), trailers });
    response.end();
  });
}

function read(bytes) {
  return new Promise((resolve) => {
    const socket = new Duplex({
      read() {},
      write: (_bytes, _encoding, done) => done(),
      final: (done) => done(),
    });
    socket.messages = [];
    socket.isRefused = false;
    socket.setTimeout = () => socket;
    socket.setNoDelay = () => socket;
    socket.setKeepAlive = () => socket;
    socket.on("error", () => {});
    socket.on("close", () => resolve({ messages: socket.messages, isRefused: socket.isRefused }));
    server.emit("connection", socket);
    socket.push(bytes);
    socket.push(null);
  });
}

const file = readFileSync(process.argv[2]);
for (let at = 0; at < file.length; ) {
  const length = file.readUInt32BE(at);
  process.stdout.write(`${JSON.stringify(await read(file.subarray(at + 4, at + 4 + length)))}\n`);
  at += 4 + length;
}
