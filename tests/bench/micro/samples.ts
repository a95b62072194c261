// What the micro-benchmarks work on: heads as they come.
import { RequestHead } from "../../../src/message/request-head.ts";
import { RequestParser } from "../../../src/proto/h1/request-parser.ts";

/** What curl sends. */
export const CURL_HEAD: Buffer = Buffer.from(
  "GET /health HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nUser-Agent: curl/8.5.0\r\nAccept: */*\r\n\r\n",
);

/** What a browser sends: some 900 bytes, cookies and all. */
export const BROWSER_HEAD: Buffer = Buffer.from(
  [
    "GET /node/api/v1/items/4711?page=2&sort=name&filter=open HTTP/1.1",
    "Host: www.example.test",
    "Connection: keep-alive",
    'sec-ch-ua: "Chromium";v="130", "Google Chrome";v="130", "Not?A_Brand";v="99"',
    "sec-ch-ua-mobile: ?0",
    'sec-ch-ua-platform: "Linux"',
    "Upgrade-Insecure-Requests: 1",
    "User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36",
    "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8",
    "Sec-Fetch-Site: same-origin",
    "Sec-Fetch-Mode: navigate",
    "Sec-Fetch-User: ?1",
    "Sec-Fetch-Dest: document",
    "Referer: https://www.example.test/node/api/v1/items?page=1",
    "Accept-Encoding: gzip, deflate, br, zstd",
    "Accept-Language: en-US,en;q=0.9,de;q=0.8",
    "Cookie: session=0123456789abcdef0123456789abcdef; theme=dark; consent=all; _ga=GA1.2.1234567890.1700000000",
    "",
    "",
  ].join("\r\n"),
);

/** A request that goes through the prefix `/node`. */
export const PROXIED_HEAD: Buffer = Buffer.from(
  "GET /node/items/4711?page=2 HTTP/1.1\r\nHost: www.example.test\r\nUser-Agent: curl/8.5.0\r\nAccept: */*\r\n\r\n",
);

/** What an origin answers, with a small body. */
export const ANSWER: Buffer = Buffer.from(
  [
    "HTTP/1.1 200 OK",
    "Content-Type: application/json; charset=utf-8",
    "Content-Length: 15",
    "Date: Sun, 06 Nov 1994 08:49:37 GMT",
    "Connection: keep-alive",
    "Keep-Alive: timeout=5",
    'ETag: W/"f-abcdefghijklmnopqrstuvwxyz"',
    "Cache-Control: max-age=600",
    "",
    '{"status":"ok"}',
  ].join("\r\n"),
);

/** A head that has been parsed. */
export function parsed(bytes: Buffer): RequestHead {
  const head = new RequestHead();
  const parser = new RequestParser(65536);
  head.reset(bytes);
  parser.begin(0);
  if (parser.parse(bytes, bytes.length, head) < 0) throw new Error("a sample is not a request");
  return head;
}
