// The parsers of HTTP/1.1, each on a message that came in one piece.
import { HeaderBlock } from "../../../src/message/header-block.ts";
import { Method, RequestHead } from "../../../src/message/request-head.ts";
import { ChunkEvent, ChunkedDecoder } from "../../../src/proto/h1/chunked-decoder.ts";
import { RequestParser } from "../../../src/proto/h1/request-parser.ts";
import { ResponseParser } from "../../../src/proto/h1/response-parser.ts";
import { bench } from "../micro.ts";
import { ANSWER, BROWSER_HEAD, CURL_HEAD } from "./samples.ts";

const CHUNK_BYTES = 4096;
const CHUNKED: Buffer = Buffer.from(`1000\r\n${"x".repeat(CHUNK_BYTES)}\r\n0\r\n\r\n`);

const requestParser = new RequestParser(65536);
const head = new RequestHead();

function parseRequest(bytes: Buffer): number {
  requestParser.begin(0);
  head.reset(bytes);
  return requestParser.parse(bytes, bytes.length, head);
}

bench(`h1 request parser: curl, 3 fields, ${CURL_HEAD.length} bytes`, () => parseRequest(CURL_HEAD));
bench(`h1 request parser: browser, 16 fields, ${BROWSER_HEAD.length} bytes`, () => parseRequest(BROWSER_HEAD));

const responseParser = new ResponseParser();
const headers = new HeaderBlock();

bench("h1 response parser: 7 fields", () => {
  responseParser.begin(0);
  headers.reset(ANSWER);
  return responseParser.parse(ANSWER, ANSWER.length, headers, Method.Get);
});

const decoder = new ChunkedDecoder();

bench("h1 chunked decoder: 4 KiB in one chunk", () => {
  decoder.begin(0);
  let at = 0;
  let data = 0;
  for (let event = ChunkEvent.NeedMore; event !== ChunkEvent.Done; at = decoder.consumed) {
    event = decoder.next(CHUNKED, at, CHUNKED.length);
    if (event === ChunkEvent.Data) data += decoder.dataTo - decoder.dataFrom;
  }
  return data;
});
