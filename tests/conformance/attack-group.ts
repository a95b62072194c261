import { makeAttack } from "../fuzz/request-seeds.ts";
import { chunked } from "../harness/raw-client.ts";
import type { SeededRandom } from "../harness/seeded-random.ts";

/** The prefix of the proxied route in every text that is made here. */
export const PLACEHOLDER = "/node";

/**
 * One to four requests in a row, as latin1 text: half of the time the hostile ones of the fuzzer, else right ones of
 * every shape, into which now and then one wrong byte falls.
 */
export function makeGroup(random: SeededRandom): string {
  if (random.chance(0.5)) return makeAttack(random);
  let text = "";
  for (let left = random.pick([1, 1, 1, 2, 3, 4]); left > 0; left--) text += makeRequest(random);
  if (random.chance(0.8)) return text;
  const at = random.integer(0, text.length - 1);
  return text.slice(0, at) + String.fromCharCode(random.integer(0, 255)) + text.slice(at + random.integer(0, 1));
}

const METHODS = "GET GET HEAD POST POST PUT PATCH DELETE OPTIONS PROPFIND M-SEARCH REPORT PURGE".split(" ");
const SEGMENTS = ["echo", "canary", "a%20b", "%2F", "%e9", "x.y", "~u", "a;b=c", "@:!$&'()*+,=", "A-_"];
const QUERIES = ["", "", "?", "?a=1&b=%20", "?x=/../y", "??", "?a=[]{}|^`", "?%00"];
const NAMES = ["X-A", "x-a", "X-B", "Accept", "Cookie", "User-Agent", "X_Under", "X-!#$%&'*+.^`|~", "Via", "Range"];
const VALUES = [
  "1",
  "",
  "a, b",
  'a;b="c"',
  "\xe9\xff",
  "tab\tinside",
  "  both sides  ",
  "\t tabs \t",
  "a:b",
  "\x80",
  "'",
];
const CODINGS = ["chunked", "Chunked", "CHUNKED"];
const TRAILERS = ["X-Sum: 1", "x-sum: 2", "X-T:\t\xe9 ", "Expires: 0"];
const HOSTS = ["gw.test", "gw.test", "gw.test:8080", "127.0.0.1", "[::1]:80", "GW.test"];
const SMUGGLED = `GET ${PLACEHOLDER}/canary HTTP/1.1\r\nHost: gw.test\r\n\r\n`;

function makeRequest(random: SeededRandom): string {
  const path = Array.from({ length: random.pick([1, 1, 1, 2, 3]) }, () => `/${random.pick(SEGMENTS)}`).join("");
  const start = `${random.pick(METHODS)} ${PLACEHOLDER}${path}${random.pick(QUERIES)} HTTP/1.1`;
  const lines = [`Host: ${random.pick(HOSTS)}`];
  for (let left = random.pick([0, 1, 2, 3, 12, 80]); left > 0; left--) {
    lines.push(`${random.pick(NAMES)}:${random.pick(["", " ", "\t", "  "])}${random.pick(VALUES)}`);
  }
  const body = makeBody(random);
  if (body === "" && random.chance(0.7)) return [start, ...lines, "", ""].join("\r\n");
  if (random.chance(0.5)) {
    const digits = random.chance(0.1) ? `000${body.length}` : String(body.length);
    return [start, ...lines, `Content-Length: ${digits}`, "", body].join("\r\n");
  }
  lines.push(`Transfer-Encoding: ${random.pick(CODINGS)}`);
  return [start, ...lines, "", makeChunks(body, random)].join("\r\n");
}

// Now and then a body that would do harm if it were taken for a request.
function makeBody(random: SeededRandom): string {
  const kind = random.integer(0, 9);
  if (kind < 3) return "";
  if (kind < 5) return SMUGGLED;
  if (kind < 6) return `0\r\n\r\n${SMUGGLED}`;
  return random.bytes(random.pick([1, 2, 100, 4096, 20_000])).toString("latin1");
}

function makeChunks(body: string, random: SeededRandom): string {
  const trailers = Array.from({ length: random.pick([0, 0, 0, 1, 2]) }, () => random.pick(TRAILERS));
  const text = chunked(body, random.pick([1, 7, 1024, 100_000]) + (body.length >> 8), trailers).toString("latin1");
  if (random.chance(0.6)) return text;
  // Zeros in front, and an extension, on the first size line.
  return text
    .replace("\r\n", `${random.pick(["", ";a", ";a=b", ';a="b c"', ";;"])}\r\n`)
    .replace(/^/, "0".repeat(random.integer(0, 3)));
}
