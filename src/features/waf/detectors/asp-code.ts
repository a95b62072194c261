import { InputLocation, type ValueReading } from "../match/value-reading.ts";
import { CRITICAL_SCORE, type DetectionListener, type DetectorGroup, type WafRule } from "../rule.ts";

const ASP_CODE: WafRule = {
  id: "RCE-013",
  category: "rce",
  score: CRITICAL_SCORE,
  description: "code of Active Server Pages",
  keywords: [
    ...["response.write", "response.end", "server.scripttimeout", "server.createobject", "server.mappath"],
    ...["on error resume next", "createobject(", "wscript.shell", "request.item[", "eval request", "execute request"],
  ],
};

/** Programs of ASP, which nothing but a server of it runs. */
export const ASP_GROUP: DetectorGroup = {
  rules: [ASP_CODE],
  locations: [InputLocation.Query, InputLocation.Header, InputLocation.Body],
  keywords: () => [],
  detectors: () => [{ analyse: findAspCode }],
};

/** Finds two idioms of ASP in one value without line breaks, where programs that are shown have many. */
function findAspCode({ bytes, length }: ValueReading, listener: DetectionListener): void {
  if (length > MAX_VALUE) return;
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, length);
  if (text.includes(0x0a)) return;
  let idioms = 0;
  for (const idiom of IDIOMS) if (text.includes(idiom)) idioms++;
  if (idioms >= 2) listener.found(ASP_CODE, 0);
}

const IDIOMS: readonly Buffer[] = [
  ...["response.write", "response.end", "server.scripttimeout", "server.createobject", "server.mappath"],
  ...["on error resume next", "createobject(", "wscript.shell", "request.item", "eval request", "execute("],
].map((idiom) => Buffer.from(idiom));
const MAX_VALUE = 8192;
