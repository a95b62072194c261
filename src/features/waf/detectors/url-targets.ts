import { Byte, EMPTY_BYTES } from "../../../core/bytes.ts";
import { classEnd, isQuote, isSeparator, SCHEME } from "../match/scan.ts";
import { InputLocation, type ValueReading } from "../match/value-reading.ts";
import { WordSet } from "../match/word-set.ts";
import {
  CRITICAL_SCORE,
  type DetectionListener,
  type Detector,
  type DetectorGroup,
  NOTICE_SCORE,
  type WafRule,
  words,
} from "../rule.ts";
import { HostKind, HostReading } from "./network-address.ts";
import { isFetchParameter, isFileParameter, isIncludeParameter, isReferralParameter } from "./parameter-names.ts";

const INCLUDED_SCRIPT: WafRule = {
  id: "RFI-001",
  crs: [931100],
  category: "rfi",
  score: CRITICAL_SCORE,
  description: "remote script at an IP address",
};
const INCLUDED_URL: WafRule = {
  id: "RFI-002",
  crs: [931110, 931130],
  category: "rfi",
  score: CRITICAL_SCORE,
  description: "remote script in a parameter for a local file",
  keywords: words(".php .asp .jsp .cgi .cfm .txt .inc .phtml .tpl ftp:/ http:/\\ http:\\"),
};
const TRUNCATED_URL: WafRule = {
  id: "RFI-003",
  crs: [931120],
  category: "rfi",
  score: CRITICAL_SCORE,
  description: "URL that truncates the text that the application appends to it",
  keywords: ["\0"],
};
const NETWORK_SHARE: WafRule = {
  id: "RFI-004",
  category: "rfi",
  score: CRITICAL_SCORE,
  description: "UNC path in a parameter for a file or URL",
  keywords: ["\\\\", ":\\\\"],
};
const METADATA_SERVICE: WafRule = {
  id: "SSRF-001",
  crs: [934110, 934120],
  category: "ssrf",
  score: CRITICAL_SCORE,
  description: "cloud metadata service",
  keywords: words("//metadata @metadata //instance-data //rancher-metadata"),
};
const LOOPBACK_URL: WafRule = {
  id: "SSRF-002",
  crs: [934110, 934190],
  category: "ssrf",
  score: CRITICAL_SCORE,
  description: "loopback address in a parameter for a URL",
  keywords: words("//local @localhost localdomain //ip6-localhost //loopback ///local"),
};
const INTERNAL_URL: WafRule = {
  id: "SSRF-003",
  category: "ssrf",
  score: CRITICAL_SCORE,
  description: "private network in a parameter for a URL",
  crs: [931100],
  keywords: words(
    ".svc .internal //intranet //internal //corp //lan //consul .intranet .corp .lan .local .consul //kubernetes",
  ),
};
const INTERNAL_MENTION: WafRule = {
  id: "SSRF-004",
  category: "ssrf",
  score: NOTICE_SCORE,
  description: "URL with a loopback or private address in another parameter",
};
const OBFUSCATED_ADDRESS: WafRule = {
  id: "SSRF-005",
  crs: [934120, 934110],
  category: "ssrf",
  score: CRITICAL_SCORE,
  description: "obfuscated IP address",
  keywords: words("//0 //[ @0 @[ http:0 https:0 http:/0 https:/0 ///0 //\u0090 //\u00e0 //\u00ef"),
};
const ODD_SCHEME: WafRule = {
  id: "SSRF-006",
  category: "ssrf",
  score: CRITICAL_SCORE,
  description: "URL scheme of another protocol than HTTP",
  keywords: words(
    "gopher: dict: ldap: ldaps: ldapi: rmi: imap: imaps: pop3: pop3s: smtp: telnet: smb: tftp: sftp: netdoc: jar: url:",
  ),
};
const CALLBACK_DOMAIN: WafRule = {
  id: "SSRF-007",
  category: "ssrf",
  score: CRITICAL_SCORE,
  description: "wildcard DNS or out-of-band callback domain",
  keywords: [
    ...words("nip.io sslip.io xip.io localtest.me lvh.me vcap.me oastify.com burpcollaborator.net interact.sh"),
    ...words("oast.fun oast.pro oast.live oast.site oast.online oast.me dnslog.cn ceye.io bxss.me rbndr.us"),
    "requestrepo.com",
  ],
};

/**
 * URLs that a server is made to fetch. Within the path they are those of proxies and archives, and headers name where a client comes
 * from.
 */
export const URL_GROUP: DetectorGroup = {
  rules: [
    INCLUDED_SCRIPT,
    INCLUDED_URL,
    TRUNCATED_URL,
    NETWORK_SHARE,
    METADATA_SERVICE,
    LOOPBACK_URL,
    INTERNAL_URL,
    INTERNAL_MENTION,
    OBFUSCATED_ADDRESS,
    ODD_SCHEME,
    CALLBACK_DOMAIN,
  ],
  locations: [InputLocation.Query, InputLocation.Body],
  keywords: () => [],
  detectors: () => [new UrlTargets()],
};

/** Finds URLs that make a server fetch what it should not: its own network, a cloud's credentials, a foreign program. */
class UrlTargets implements Detector {
  private readonly host: HostReading = new HostReading();
  private bytes: Uint8Array = EMPTY_BYTES;
  private length = 0;
  private listener: DetectionListener | null = null;
  private hostFrom = 0;
  private hostTo = 0;
  /** Where the path begins. */
  private pathFrom = 0;

  /** Looks at the URL that the value begins with, and at hosts of all others. */
  analyse(value: ValueReading, listener: DetectionListener): void {
    this.bytes = value.bytes;
    this.length = value.length;
    this.listener = listener;
    this.judgeStart(value);
    const isReferral = isReferralParameter(value);
    for (let at = this.nextSlashes(0); at >= 0; at = this.nextSlashes(at + 2)) {
      this.judgeAnyHost(at, isReferral);
      if (!value.steps.take(STEPS + 4 * (this.pathFrom - at))) return;
    }
  }

  /** Offset of the next two slashes. */
  private nextSlashes(from: number): number {
    const { bytes, length } = this;
    for (let at = from; at + 1 < length; at++) {
      if (bytes[at] === Byte.Slash && bytes[at + 1] === Byte.Slash) return at;
    }
    return -1;
  }

  /** A host that is an attack wherever it is named. */
  private judgeAnyHost(slashes: number, isReferral: boolean): void {
    this.readHost(slashes + 2);
    const { kind } = this.host;
    if (kind === HostKind.Metadata) this.report(METADATA_SERVICE, slashes);
    else if (kind === HostKind.Callback && !isReferral) this.report(CALLBACK_DOMAIN, slashes);
  }

  private judgeStart(value: ValueReading): void {
    const { bytes } = this;
    let from = 0;
    while (from < this.length && (bytes[from]! <= Byte.Space || isQuote(bytes[from]!))) from++;
    const at = classEnd(bytes, from, SCHEME);
    const hasScheme = at > from && bytes[at] === Byte.Colon;
    const scheme = hasScheme ? SCHEMES.valueOf(bytes, from, at) : 0;
    const slashes = hasScheme ? at + 1 : from;
    const isBackslashes = bytes[slashes] === Byte.Backslash && bytes[slashes + 1] === Byte.Backslash;
    const isSlashes = bytes[slashes] === Byte.Slash && bytes[slashes + 1] === Byte.Slash;
    if (!isSlashes && !isBackslashes) {
      if (scheme === SchemeKind.Nested) this.judgeNested(at + 1, from);
      else if (scheme === SchemeKind.Web) this.judgeSloppy(value, at + 1, from);
      return;
    }
    if (isBackslashes && !hasScheme) return this.judgeShare(from + 2, value);
    const extra = this.behindSlashes(slashes + 2);
    this.readHost(extra);
    if ((scheme === SchemeKind.Odd || scheme === SchemeKind.Nested) && bytes[slashes + 2]! > Byte.Space) {
      this.report(ODD_SCHEME, from);
    }
    if (hasScheme && scheme === 0) return;
    this.judgeHost(value, from);
    if (scheme === SchemeKind.Web || !hasScheme || scheme === SchemeKind.File) this.judgeInclusion(value, from, scheme);
  }

  /** http:127.0.0.1, http:/\\127.0.0.1: what lenient clients mend. */
  private judgeSloppy(value: ValueReading, from: number, start: number): void {
    const hostFrom = this.behindSlashes(from);
    this.readHost(hostFrom);
    if (isFetchParameter(value)) this.judgeHost(value, start);
    if (hostFrom > from) this.judgeInclusion(value, start, SchemeKind.Web);
  }

  /** Passes over slashes and backslashes, as lenient clients do. */
  private behindSlashes(from: number): number {
    let at = from;
    while (isSeparator(this.bytes[at]!)) at++;
    return at;
  }

  /** jar:http://…, url:file:///… */
  private judgeNested(from: number, start: number): void {
    const at = classEnd(this.bytes, from, SCHEME);
    const isUrl = this.bytes[at] === Byte.Colon && this.bytes[at + 1] === Byte.Slash;
    if (at > from && isUrl) this.report(ODD_SCHEME, start);
  }

  private judgeHost(value: ValueReading, at: number): void {
    const { kind, isObfuscated } = this.host;
    if (isObfuscated) this.report(OBFUSCATED_ADDRESS, at);
    if (kind !== HostKind.Loopback && kind !== HostKind.Internal) return;
    if (isReferralParameter(value)) return;
    const isFetched = isFetchParameter(value);
    if (kind === HostKind.Loopback && isFetched) this.report(LOOPBACK_URL, at);
    else this.report(isFetched ? INTERNAL_URL : INTERNAL_MENTION, at);
  }

  /** A program, or a text that is one, from elsewhere: by address, cut off, or where a file of the server is due. */
  private judgeInclusion(value: ValueReading, at: number, scheme: number): void {
    const { bytes } = this;
    let end = this.pathFrom;
    while (end < this.length && bytes[end]! > Byte.Space && !URL_ENDS.includes(bytes[end]!)) end++;
    const extension = EXTENSIONS.valueOf(bytes, behindDot(bytes, this.pathFrom, end), end);
    const isProgram = extension !== 0 && extension !== NATIVE;
    const isCut = (bytes[end] === Byte.Question || bytes[end] === Byte.Hash) && this.isCutBehind(end);
    const isNul = bytes[end] === Byte.Nul && end < this.length;
    if (extension !== 0 && this.host.kind === HostKind.Address) this.report(INCLUDED_SCRIPT, at);
    if (((isProgram || isIncludeParameter(value)) && isCut) || isNul) this.report(TRUNCATED_URL, at);
    const isForeign = extension === FOREIGN || scheme === SchemeKind.File;
    if (isProgram && isIncludeParameter(value)) this.report(INCLUDED_URL, at);
    else if (isProgram && isFileParameter(value) && (scheme === 0 || this.isPlanted(end)))
      this.report(INCLUDED_URL, at);
    else if (isForeign && isFileParameter(value)) this.report(INCLUDED_URL, at);
  }

  /** …/c99.php: a name that planted programs go by, before an extension that ends at `to`. */
  private isPlanted(to: number): boolean {
    const dot = behindDot(this.bytes, this.pathFrom, to) - 1;
    let from = dot;
    while (from > this.pathFrom && SCHEME[this.bytes[from - 1]!] === 1) from--;
    return PLANTED.valueOf(this.bytes, from, dot) !== 0;
  }

  /** http://evil/x.txt? — nothing, or what only the application appends, follows the question mark. */
  private isCutBehind(at: number): boolean {
    return at + 1 >= this.length || (this.bytes[at + 1] === Byte.Question && at + 2 >= this.length);
  }

  /** \\host\share: Windows fetches it with the server's own credentials. */
  private judgeShare(from: number, value: ValueReading): void {
    const { bytes } = this;
    let at = from;
    while (SCHEME[bytes[at]!] === 1 || bytes[at] === Byte.At) at++;
    const isShare = at > from + 2 && bytes[at] === Byte.Backslash && bytes[at + 1]! > Byte.Space;
    if (isShare && (isFileParameter(value) || isFetchParameter(value))) this.report(NETWORK_SHARE, from - 2);
  }

  /** Reads the authority at `from`: after user information, before a port. */
  private readHost(from: number, isSecond = false): void {
    const { bytes } = this;
    let to = from;
    let hostFrom = from;
    for (; bytes[to]! > Byte.Space && to < this.length && to < from + MAX_AUTHORITY; to++) {
      const byte = bytes[to]!;
      if (
        byte === Byte.Slash ||
        byte === Byte.Question ||
        byte === Byte.Hash ||
        byte === Byte.Backslash ||
        isQuote(byte)
      )
        break;
      if (byte === Byte.At) hostFrom = to + 1;
    }
    this.pathFrom = to;
    this.hostFrom = hostFrom;
    this.readHostPart(hostFrom, to);
    // http://a.test#@127.0.0.1: to some what follows the sign is the host.
    const isDouble = !isSecond && this.host.kind === HostKind.Other && to < this.length && bytes[to + 1] === Byte.At;
    if (isDouble && bytes[to]! > Byte.Space && bytes[to] !== Byte.Slash) this.readHost(to + 2, true);
  }

  private readHostPart(hostFrom: number, to: number): void {
    const { bytes } = this;
    let end = to;
    const isLiteral = bytes[hostFrom] === Byte.LeftBracket;
    for (let at = to - 1; at > hostFrom && !isLiteral; at--) if (bytes[at] === Byte.Colon) end = at;
    this.hostTo = end;
    this.host.read(bytes, this.hostFrom, this.hostTo);
    if (this.host.kind === HostKind.Other && isLookalike(bytes, hostFrom, end)) this.host.isObfuscated = true;
  }

  private report(rule: WafRule, at: number): void {
    this.listener!.found(rule, at);
  }
}

const enum SchemeKind {
  Web = 1,
  File,
  Odd,
  /** One of a service that some clients do speak to. */
  Service,
  /** One that wraps another URL. */
  Nested,
}

/** Whether digits in circles, wide letters or dots stand in a host: clients make an address of them. */
function isLookalike(bytes: Uint8Array, from: number, to: number): boolean {
  for (let at = from; at + 2 < to; at++) {
    const next = bytes[at + 1]!;
    if (bytes[at] === 0xe2 && next >= 0x91 && next <= 0x93) return true;
    if (bytes[at] === 0xef && (next === 0xbc || next === 0xbd)) return true;
    if (bytes[at] === 0xe3 && next === 0x80 && bytes[at + 2] === 0x82) return true;
  }
  return false;
}

/** Offset after the last dot of a path, or its end. */
function behindDot(bytes: Uint8Array, from: number, to: number): number {
  let at = to;
  while (at > from && bytes[at - 1] !== Byte.Dot && bytes[at - 1] !== Byte.Slash) at--;
  return at > from && bytes[at - 1] === Byte.Dot ? at : to;
}

const SCHEMES: WordSet = new WordSet([
  [SchemeKind.Web, "http https ws wss"],
  [SchemeKind.File, "ftp ftps"],
  [SchemeKind.Odd, "gopher dict ldap ldaps ldapi tftp sftp netdoc rmi imap imaps pop3 pop3s smtp smtps telnet smb"],
  [SchemeKind.Service, "rtsp ssh redis rediss mysql postgres postgresql mongodb memcached amqp"],
  [SchemeKind.Nested, "jar url"],
]);
/** What no site's own pages end in. */
const FOREIGN = 2;
/** What runs on its own, and no server includes. */
const NATIVE = 3;
const EXTENSIONS: WordSet = new WordSet([
  [1, "php php5 php7 asp aspx jsp jspx cgi cfm"],
  [FOREIGN, "txt inc phtml php3 php4 tpl"],
  [NATIVE, "sh pl py"],
]);
const PLANTED: WordSet = new WordSet([[1, "shell webshell c99 r57 b374k wso backdoor cmd c100 r00t"]]);
/** ? # & */
const URL_ENDS: readonly number[] = [0x3f, 0x23, 0x26];
const MAX_AUTHORITY = 256;
/** What a host costs beside its own bytes. */
const STEPS = 16;
