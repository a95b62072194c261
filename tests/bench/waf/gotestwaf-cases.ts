import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parse } from "yaml";
import { percentEncoded, requestBytes, type WafCase } from "./waf-case.ts";

/** A file of test cases: each payload goes out with each encoding in each place. */
interface TestFile {
  readonly payload: readonly string[];
  readonly encoder: readonly string[];
  readonly placeholder: readonly (string | Readonly<Record<string, PlaceSettings>>)[];
}

interface PlaceSettings {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** GoTestWAF's cases as they go over the wire, but for gRPC. @param folder with a folder for each test set */
export function goTestWafCases(folder: string): WafCase[] {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".yml"));
  return files.sort().flatMap((name) => {
    const file = parse(readFileSync(join(folder, name), "utf8"), LENIENT) as TestFile;
    const set = dirname(name);
    const cases = file.placeholder.flatMap((place) =>
      file.encoder.flatMap((encoder) => file.payload.flatMap((payload) => requestOf(place, encoder, String(payload)))),
    );
    return cases.map((bytes) => ({ set: "GoTestWAF", group: set, isAttack: set !== "false-pos", weight: 1, bytes }));
  });
}

/** GoTestWAF's score: of applications and of APIs apart the mean of the attacks blocked and the texts passed, in percent. */
export function goTestWafScore(cases: readonly WafCase[], isStopped: (one: WafCase) => boolean): number {
  const part = (isOfApis: boolean): number | null => {
    const own = cases.filter(({ group }) => group.includes("api") === isOfApis);
    const share = (isAttack: boolean): number[] => {
      const kind = own.filter((one) => one.isAttack === isAttack);
      return kind.length === 0 ? [] : [(100 * kind.filter((one) => isStopped(one) === isAttack).length) / kind.length];
    };
    return mean([...share(true), ...share(false)]);
  };
  return mean([part(false), part(true)].filter((one) => one !== null)) ?? 0;
}

function mean(values: readonly number[]): number | null {
  return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length;
}

function requestOf(place: TestFile["placeholder"][number], encoder: string, payload: string): Uint8Array[] {
  const [name, settings] = typeof place === "string" ? [place, {}] : Object.entries(place)[0]!;
  const make = PLACES[name];
  const encode = ENCODERS[encoder];
  if (encode === undefined) throw new Error(`GoTestWAF has an encoding that is not known: ${encoder}`);
  if (make !== undefined) return [make(encode(payload), settings)];
  if (name !== "gRPC") throw new Error(`GoTestWAF has a place that is not known: ${name}`);
  return [];
}

const ENCODERS: Readonly<Record<string, (text: string) => string>> = {
  Plain: (text) => text,
  URL: (text) => percentEncoded(Buffer.from(text)).replace(/%(24|26|2B|3D|3A|40)/g, (one) => decodeURIComponent(one)),
  Base64: (text) => Buffer.from(text).toString("base64"),
  Base64Flat: (text) => Buffer.from(text).toString("base64").replaceAll("=", ""),
  JSUnicode: inUnicode,
  XMLEntity: inEntities,
};

function inUnicode(text: string): string {
  return [...Array(text.length).keys()].map((i) => `\\u${text.charCodeAt(i).toString(16).padStart(4, "0")}`).join("");
}

function inEntities(text: string): string {
  return text.replace(/[&<>"']/g, (one) => `&#${one.charCodeAt(0)};`);
}

/** What cannot stand in a target as it is; HTTP clients escape it. */
function inTarget(text: string): string {
  return text.replace(/[^!-~]/gu, (one) => percentEncoded(Buffer.from(one)));
}

function post(type: string, body: string, more: readonly (readonly [string, string])[] = []): Uint8Array {
  const fields = type === "" ? more : [...more, ["Content-Type", type] as const];
  return requestBytes("POST /", fields, Buffer.from(body));
}

/** A value of a field as clients send it: without what ends a line. */
function inField(text: string): string {
  return text.replace(/[\r\n]/g, " ").trim();
}

const NAME = "ab1c2d3e4f";
const PLACES: Readonly<Record<string, (payload: string, settings: PlaceSettings) => Uint8Array>> = {
  URLPath: (payload) => requestBytes(`GET /${inTarget(payload)}`, []),
  URLParam: (payload) => requestBytes(`GET /?${NAME}=${inTarget(payload)}`, []),
  Header: (payload) => requestBytes("GET /", [[`X-${NAME}`, inField(payload)]]),
  UserAgent: (payload) => requestBytes("GET /", [["User-Agent", inField(payload)]]),
  RequestBody: (payload) => post("", payload),
  JSONBody: (payload) => post("application/json", payload),
  JSONRequest: (payload) => post("application/json", `{"test": true, "${NAME}": "${inUnicode(payload)}"}`),
  HTMLForm: (payload) => post("application/x-www-form-urlencoded", `${NAME}=${payload}`),
  HTMLMultipartForm(payload) {
    const body = `--b0undary\r\nContent-Disposition: form-data; name="${NAME}"\r\n\r\n${payload}\r\n--b0undary--\r\n`;
    return post("multipart/form-data; boundary=b0undary", body);
  },
  SOAPBody(payload) {
    const inner = `<${NAME}>${inEntities(payload)}</${NAME}>`;
    const body = `<?xml version="1.0"?><soap:Envelope xmlns:soap="http://schemas.xmlsoap.org/soap/envelope/"><soap:Body>${inner}</soap:Body></soap:Envelope>`;
    return post("text/xml", body, [["SOAPAction", '"http://schemas.xmlsoap.org/soap/actor/next"']]);
  },
  XMLBody: (payload) => post("application/xml", payload),
  GraphQL: (payload, { method = "POST" }) =>
    method === "GET"
      ? requestBytes(`GET /graphql?query=${percentEncoded(Buffer.from(payload))}`, [])
      : post("", payload),
  RawRequest(payload, { method = "GET", path = "/", headers = {}, body = "" }) {
    const fill = (text: string) => text.replaceAll("{{payload}}", payload);
    const fields = Object.entries(headers).map(([name, value]): [string, string] => [
      name,
      inField(fill(String(value))),
    ]);
    const content = fill(body);
    return requestBytes(`${method} ${inTarget(fill(path))}`, fields, content === "" ? null : Buffer.from(content));
  },
};
const LENIENT = { strict: false, uniqueKeys: false, logLevel: "silent" } as const;
