// Says what express and its usual parsers make of a request's body: every name and value, as JSON. Arguments: the folder of the
// packages. The first line of its output is its port.
const { createRequire } = require("node:module");
const { Writable } = require("node:stream");
const load = createRequire(`${process.argv[2]}/`);
const express = load("express");
const multer = load("multer");
const { formidable } = load("formidable");

/** Contents of files are thrown away. */
const nowhere = () => new Writable({ write: (_chunk, _encoding, done) => done() });
const app = express();
const any = () => true;
const answer = (request, response) => response.json(textsOf([request.body ?? null, filesOf(request.files ?? [])]));

app.use("/default", express.json(), express.urlencoded({ extended: true }), express.text(), multer().any(), answer);
app.use("/json", express.json({ type: any, strict: false }), answer);
app.use("/form", express.urlencoded({ type: any, extended: true }), answer);
app.use("/simple", express.urlencoded({ type: any, extended: false }), answer);
app.use("/text", express.text({ type: any }), answer);
app.use("/multer", multer().any(), answer);
app.use("/formidable", (request, response, next) => {
  formidable({ multiples: true, allowEmptyFiles: true, minFileSize: 0, fileWriteStreamHandler: nowhere }).parse(
    request,
    (error, fields, files) => {
      if (error) return next(error);
      const names = Object.values(files).flatMap((list) => list.map((file) => file.originalFilename));
      response.json(textsOf([fields, names]));
    },
  );
});
app.use((error, _request, response, _next) => response.status(error.status ?? 500).json([]));

// Some parsers throw out of the stream of a body that is malformed.
process.on("uncaughtException", () => {});
const server = app.listen(0, "127.0.0.1", () => console.log(server.address().port));

function filesOf(files) {
  return files.map((file) => [file.fieldname, file.originalname]);
}

function textsOf(value) {
  if (value === null || typeof value !== "object") return [String(value)];
  return Object.entries(value).flatMap(([name, inner]) =>
    Array.isArray(value) ? textsOf(inner) : [name, ...textsOf(inner)],
  );
}
