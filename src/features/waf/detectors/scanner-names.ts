import { isDigit, isLowerLetter } from "../../../core/bytes.ts";
import { InputLocation, type ValueReading } from "../match/value-reading.ts";
import { CRITICAL_SCORE, type DetectionListener, type DetectorGroup, type WafRule } from "../rule.ts";

/**
 * Names that attack tools give themselves in User-Agent and like fields, in lower case, as far as they cannot be part
 * of another name. Libraries that tools are made with (curl, python-requests, Go-http-client) serve honest
 * clients and are not here.
 */
const SCANNER_NAMES: readonly string[] = [
  "sqlmap",
  "nikto",
  "nmap scripting engine",
  "nmap nse",
  "masscan",
  "zgrab",
  "nuclei",
  "dirbuster",
  "gobuster",
  "feroxbuster",
  "fuzz faster u fool",
  "wfuzz",
  "wpscan",
  "joomscan",
  "droopescan",
  "cmsmap",
  "whatweb",
  "wapiti",
  "arachni",
  "w3af",
  "skipfish",
  "acunetix",
  "netsparker",
  "invicti",
  "appscan",
  "webinspect",
  "nessus",
  "openvas",
  "havij",
  "(hydra)",
  "commix",
  "xsser",
  "xsstrike",
  "dalfox",
  "jaeles",
  "zmeu",
  "morfeus",
  "jorgee",
  "paros/",
  "burpsuite",
  "burp suite",
  "burpcollaborator",
  "owasp zap",
  "zaproxy",
  "vega/",
  "brutus/",
  "pangolin",
  "sqlninja",
  "bsqlbf",
  "absinthe",
  "webshag",
  "uniscan",
  "golismero",
  "dotdotpwn",
  "fimap",
  "n-stealth",
  "nsauditor",
  "cgichk",
  "l9explore",
  "l9tcpid",
  "interactsh",
  "projectdiscovery",
  "dirsearch",
  "sslscan",
  "sqlsus",
  "jbrofuzz",
  "webscarab",
  "whisker",
  "grendel-scan",
  "vulnerability scanner",
  "security scanner",
  "httprint",
  "blackwidow",
  "rustbuster",
  "kiterunner",
  "arjun/",
  "tplmap",
  "nosqlmap",
  "ysoserial",
  "crlfuzz",
  "metasploit",
  "greenbone",
  "leakix",
  "cmseek",
  "naabu",
  "subfinder",
  "amass/",
  "hakrawler",
  "gospider",
  "waybackurls",
  "paramspider",
  "eyewitness",
  "aquatone",
  "detectify",
  "qualys",
  "rapid7",
  "nexpose",
  "tenable",
  "probely",
  "ratproxy",
  "sqlbrute",
  "sqlier",
  "toata dragostea",
  "muieblackcat",
  "muhstik",
  "tsunamisecurityscanner",
  "crawlergo",
  "awvs",
  "vulnx",
  "sn1per",
  "osmedeus",
  "reconftw",
  "evilginx",
  "thc-hydra",
  "patator",
  "zap/",
  "; zap)",
  "ffuf",
  "ghauri",
  "slowhttptest",
  "wafw00f",
  "webcruiser",
  "theharvester",
  "recon-ng",
  "spiderfoot",
  "cobalt strike",
  "webshell",
  "dirb/",
  "dirmap",
  "mozlila",
  "hello, world",
];

const SCANNER_AGENT: WafRule = {
  id: "SCANNER-001",
  crs: [913100],
  category: "scanner",
  score: CRITICAL_SCORE,
  description: "name of an attack tool in User-Agent or in an extension header",
  keywords: SCANNER_NAMES,
};

/** Attack tools that say who they are. */
export const SCANNER_GROUP: DetectorGroup = {
  rules: [SCANNER_AGENT],
  locations: [InputLocation.Agent, InputLocation.Extension],
  keywords: () => [],
  detectors: () => [{ analyse: findScannerName }],
};

/** Finds the names that attack tools give themselves. The keyword search has found one already: this says where. */
function findScannerName(value: ValueReading, listener: DetectionListener): void {
  const { bytes, length, location } = value;
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, length);
  let first = -1;
  for (const name of SCANNER_NAMES) {
    const at = text.indexOf(name, 0, "latin1");
    const isApart = location === InputLocation.Agent || isWord(bytes, at, at + name.length);
    if (at >= 0 && isApart && (first < 0 || at < first)) first = at;
  }
  if (first >= 0) listener.found(SCANNER_AGENT, first);
}

/** Whether a name is none of a longer word: extension headers have tokens of chance letters. */
function isWord(bytes: Uint8Array, from: number, to: number): boolean {
  return (
    !(isAlphanumeric(bytes[from - 1] ?? 0) && isAlphanumeric(bytes[from]!)) &&
    !(isAlphanumeric(bytes[to - 1]!) && isAlphanumeric(bytes[to]!))
  );
}

function isAlphanumeric(byte: number): boolean {
  return isDigit(byte) || isLowerLetter(byte);
}
