import zlib from "node:zlib";
import { chunked, request } from "../harness/raw-client.ts";
import type { SeededRandom } from "../harness/seeded-random.ts";

/** Requests with random bodies and labels, some of them false: each hides one text where some reader may find it. */
export function anyBody(random: SeededRandom, path: string, text: string): Buffer {
  const shape = random.pick(SHAPES);
  const made = shape(random, text);
  let body = random.chance(0.05) ? Buffer.from(made.body.toString("latin1"), "utf16le") : made.body;
  const lines = typeLines(random, made.type);
  if (random.chance(0.4)) {
    const coding = random.pick(CODINGS);
    lines.push(...coding.lines);
    if (random.chance(0.8)) body = coding.pack(body);
  }
  const method = random.pick(["POST", "POST", "POST", "PUT", "DELETE", "GET"]);
  if (!random.chance(0.3)) return request(`${method} ${path}`, lines, new Uint8Array(body));
  return request(`${method} ${path}`, [...lines, "Transfer-Encoding: chunked"], chunked(body, random.integer(1, 50)));
}

interface Made {
  readonly type: string;
  readonly body: Buffer;
}

type Shape = (random: SeededRandom, text: string) => Made;

function form(random: SeededRandom, text: string): Made {
  const separator = random.pick(["&", "&", "&", ";", "&&"]);
  const name = random.pick(["q", "a[]", "a[b][c]", "a.b", encodeAny(random, text), ""]);
  const pairs = [`${name}=${encodeAny(random, text)}`, "a=1", "b=two+words", "c"];
  return { type: "application/x-www-form-urlencoded", body: Buffer.from(shuffled(random, pairs).join(separator)) };
}

function json(random: SeededRandom, text: string): Made {
  const value = jsonText(random, text);
  const inner = random.pick([
    value,
    `{"q":${value}}`,
    `{${value}:1}`,
    `{"q":"x","q":${value}}`,
    `{"q":${value},"q":"x"}`,
    `[1e400,-0.5,[{"a":[${value}]}],null]`,
    `${"[".repeat(90)}${value}${"]".repeat(90)}`,
    `{"a":1}\n{"q":${value}}`,
    `/* ' */ {"q":${value}}`,
    `{"a":"\\\\","q":${value}}`,
    `{"a":NaN,"q":${value}}`,
    `{"a":{},"b":[],"q":${value}} trailing`,
  ]);
  const lead = random.pick(["", "", "", " \r\n\t", "\xef\xbb\xbf"]);
  return { type: "application/json", body: Buffer.from(`${lead}${inner}`, "latin1") };
}

function xml(random: SeededRandom, text: string): Made {
  const value = random.pick([escapeXml, escapeAllXml, cdata])(text);
  const inside = random.pick([
    `<a><b>${value}</b></a>`,
    value.startsWith("<!") ? `<a>${value}</a>` : `<a b="${value}"/>`,
    `<s:Envelope xmlns:s="http://www.w3.org/2003/05/soap-envelope"><s:Body><q>x<!-- y -->${value}</q></s:Body></s:Envelope>`,
  ]);
  return {
    type: "application/xml",
    body: Buffer.from(`${random.pick(["", '<?xml version="1.0"?>\n', "\n "])}${inside}`),
  };
}

function multipart(random: SeededRandom, text: string): Made {
  const boundary = random.pick(["b", "----WebKitFormBoundaryAbC123", "=_x.1", "a b"]);
  const eol = random.pick(["\r\n", "\r\n", "\r\n", "\n", "\r"]);
  const head = random.pick(PART_HEADS).replaceAll("TEXT", text.replaceAll('"', "%22"));
  const extra = random.pick(PART_EXTRAS);
  const content = extra.includes("base64") ? Buffer.from(text).toString("base64") : text;
  const part = [`--${boundary}`, `Content-Disposition: ${head}`, ...extra, "", content].join(
    random.chance(0.9) ? eol : "\r\n",
  );
  const other = [`--${boundary}`, 'Content-Disposition: form-data; name="x"', "", "y"].join(eol);
  const file = [
    `--${boundary}`,
    'Content-Disposition: form-data; name="f"; filename="f.txt"',
    "Content-Type: text/plain",
    "",
    "a file",
  ].join(eol);
  const parts = shuffled(random, [part, other, file]).join(eol);
  const lead = random.pick(["", "", "", eol, `preamble${eol}`, "preamble"]);
  const end = random.pick([
    `--${boundary}--${eol}`,
    `--${boundary}--`,
    "",
    `--${boundary}--x`,
    `--${boundary}--${eol}${part}`,
  ]);
  const declared = random.pick([
    `boundary=${boundary}`,
    `boundary="${boundary}"`,
    `charset=utf-8; Boundary="${boundary}"`,
    `boundary="${boundary}"; boundary=c`,
  ]);
  const kind = random.pick(["form-data", "form-data", "form-data", "mixed", "related"]);
  return { type: `multipart/${kind}; ${declared}`, body: Buffer.from(`${lead}${parts}${eol}${end}`) };
}

/** A field in what looks like a file, for readers that see another boundary, another end of a line, or no file in it. */
function fileWithField(random: SeededRandom, text: string): Made {
  const { declared, outer, inner } = random.pick(TWO_BOUNDARIES);
  const eol = random.pick(["\r\n", "\r\n", "\n", "\r"]);
  const type = random.pick(["application/octet-stream", "application/octet-stream", "", ";", "text"]);
  const field = [`--${inner}`, 'Content-Disposition: form-data; name="q"', "", text, `--${inner}--`];
  const body = [
    ...[`--${outer}`, 'Content-Disposition: form-data; name="f"; filename="f"', `Content-Type: ${type}`, "", ""].join(
      "\r\n",
    ),
    ...[type.length > 5 ? ["x", ...field].join(eol) : text, `--${outer}--`, ""].join("\r\n"),
  ].join("");
  return { type: `multipart/form-data; ${declared}`, body: Buffer.from(body) };
}

function plain(random: SeededRandom, text: string): Made {
  const type = random.pick([
    "text/plain",
    "application/octet-stream",
    "application/graphql",
    "text/csv",
    "application/yaml",
  ]);
  const lead = random.pick(["", "note: ", "\0\x01\x02", `\x81\xa1q\xd9${String.fromCharCode(text.length)}`]);
  return { type, body: Buffer.concat([Buffer.from(lead, "latin1"), Buffer.from(text)]) };
}

const SHAPES: readonly Shape[] = [form, json, xml, multipart, multipart, fileWithField, plain];

/** What is declared, the boundary that one reader sees in it, and the one that another may see. */
const TWO_BOUNDARIES: readonly { readonly declared: string; readonly outer: string; readonly inner: string }[] = [
  { declared: "boundary=a", outer: "a", inner: "a" },
  { declared: "boundary=a=b", outer: "a=b", inner: "a" },
  { declared: "boundary=a b", outer: "a b", inner: "a" },
  { declared: "boundary=a/b", outer: "a/b", inner: "a" },
  { declared: "xboundary=a; boundary=b", outer: "b", inner: "a" },
  { declared: "boundary=a; x=boundary=b", outer: "a", inner: "b" },
];

const PART_HEADS: readonly string[] = [
  'form-data; name="q"',
  "form-data; name=q",
  'form-data; name="TEXT"',
  'form-data; name="q"; filename=""',
  'form-data; name="q"; filename="TEXT"',
  "form-data; name=\"q\"; filename*=utf-8''",
  'form-data; filename=""; name="q"; filename="x"',
  'form-data; name="q"; filename="x"; filename=""',
  'form-data; name="q\\"; filename="x"',
  'form-data; name="q";\r\n filename=""',
  'form-data; x="; filename=y"; name="q"',
  'form-data; name="q"; filename ="x"',
  'form-data; name="q"; filename="x',
  'FORM-DATA;NAME="q"',
  "form-data; name*=utf-8''q",
  'form-data; name="q"\r\nContent-Disposition: form-data; name="q"; filename="x"',
  'form-data; name="q"; filename="x"\rContent-Disposition: form-data; name="q"',
];
const PART_EXTRAS: readonly (readonly string[])[] = [
  [],
  [],
  ["Content-Type: text/plain"],
  ["Content-Type: text/plain; charset=utf-16le"],
  ["Content-Type: application/octet-stream"],
  ["Content-Type: application/json"],
  ["Content-Transfer-Encoding: base64"],
  ["Content-Transfer-Encoding: 8bit"],
  ["content-type: multipart/mixed; boundary=c"],
];

/** @returns lines of Content-Type, the right one or others */
function typeLines(random: SeededRandom, type: string): string[] {
  const bare = type.split(";", 1)[0]!;
  const declared = random.pick<readonly string[]>([
    [type],
    [type],
    [type],
    [],
    [""],
    [random.pick(OTHER_TYPES)],
    [`${type}; charset=utf-8`],
    [`${type}; charset=${random.pick(["utf-7", "utf-16", "ibm037", "latin1", "base64", "x"])}`],
    [type.replace(bare, bare.toUpperCase())],
    [`${type} junk`],
    [random.pick(OTHER_TYPES), type],
    [type, random.pick(OTHER_TYPES)],
    [`${random.pick(OTHER_TYPES)}, ${type}`],
    [`${random.pick(OTHER_TYPES)}; x=${bare}`],
  ]);
  return declared.map((value) => `Content-Type: ${value}`);
}

const OTHER_TYPES: readonly string[] = [
  "text/plain",
  "application/json",
  "application/x-www-form-urlencoded",
  "application/octet-stream",
  "application/vnd.api+json",
  "multipart/form-data",
  "image/png",
  "text/html",
  "a",
];

interface Coding {
  readonly lines: readonly string[];
  readonly pack: (body: Buffer) => Buffer;
}

const CODINGS: readonly Coding[] = [
  { lines: ["Content-Encoding: gzip"], pack: (body) => Buffer.from(zlib.gzipSync(body)) },
  { lines: ["content-encoding: GZIP"], pack: (body) => Buffer.from(zlib.gzipSync(body, { level: 0 })) },
  { lines: ["Content-Encoding: deflate"], pack: (body) => Buffer.from(zlib.deflateSync(body)) },
  { lines: ["Content-Encoding: deflate"], pack: (body) => Buffer.from(zlib.deflateRawSync(body)) },
  { lines: ["Content-Encoding: br"], pack: (body) => Buffer.from(zlib.brotliCompressSync(body)) },
  { lines: ["Content-Encoding: zstd"], pack: (body) => Buffer.from(zlib.zstdCompressSync(body)) },
  { lines: ["Content-Encoding: identity, gzip"], pack: (body) => Buffer.from(zlib.gzipSync(body)) },
  {
    lines: ["Content-Encoding: gzip", "Content-Encoding: br"],
    pack: (body) => Buffer.from(zlib.brotliCompressSync(zlib.gzipSync(body))),
  },
  // A check in the head that is false, zeros between two members, a label beside the right one.
  {
    lines: ["Content-Encoding: gzip"],
    pack: (body) =>
      Buffer.concat([Buffer.from("1f8b08020000000000ffffff", "hex"), Buffer.from(zlib.gzipSync(body)).subarray(10)]),
  },
  {
    lines: ["Content-Encoding: gzip"],
    pack: (body) => Buffer.concat([zlib.gzipSync(""), Buffer.alloc(5), zlib.gzipSync(body)]),
  },
  { lines: ["Content-Encoding: gzip, br"], pack: (body) => Buffer.from(zlib.gzipSync(body)) },
  { lines: ["Content-Encoding: gzip;q=1"], pack: (body) => Buffer.from(zlib.gzipSync(body)) },
  { lines: ["Content-Encoding: identity"], pack: (body) => body },
  { lines: ["Content-Encoding:"], pack: (body) => body },
  { lines: ["Content-Encoding: none"], pack: (body) => body },
];

function encodeAny(random: SeededRandom, text: string): string {
  return random.pick([encodeURIComponent, allPercent, (one: string) => encodeURIComponent(one).replaceAll("%20", "+")])(
    text,
  );
}

function allPercent(text: string): string {
  return [...Buffer.from(text)].map((byte) => `%${byte.toString(16).padStart(2, "0")}`).join("");
}

function jsonText(random: SeededRandom, text: string): string {
  const all = [...text].map((char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`).join("");
  return random.pick([
    JSON.stringify(text),
    `"${all}"`,
    JSON.stringify(text).replaceAll("/", "\\/").replaceAll("<", "\\u003C"),
  ]);
}

function escapeXml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}

function escapeAllXml(text: string): string {
  return [...text].map((char) => `&#${char.charCodeAt(0)};`).join("");
}

function cdata(text: string): string {
  return `<![CDATA[${text}]]>`;
}

function shuffled<T>(random: SeededRandom, items: readonly T[]): T[] {
  const out = [...items];
  for (let i = out.length - 1; i > 0; i--) {
    const j = random.integer(0, i);
    [out[i], out[j]] = [out[j]!, out[i]!];
  }
  return out;
}
