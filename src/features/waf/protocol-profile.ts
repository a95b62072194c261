import { type HeaderBlock, HeaderId } from "../../message/header-block.ts";
import type { RequestHead } from "../../message/request-head.ts";
import { decodeFully } from "../../proto/target/percent-decoding.ts";
import type { IncidentLocation } from "./incident.ts";
import { CRITICAL_SCORE, NOTICE_SCORE, type WafRule } from "./rule.ts";
import type { WafConfig } from "./settings.ts";

const METHOD: WafRule = {
  id: "PROTOCOL-009",
  category: "protocol",
  score: CRITICAL_SCORE,
  description: "method that `waf.protocol` does not list",
  crs: [911100],
  needs: "protocol",
};
const CONTENT_TYPE: WafRule = {
  id: "PROTOCOL-010",
  category: "protocol",
  score: CRITICAL_SCORE,
  description: "body of a media type that `waf.protocol` does not list, or of none",
  crs: [920420, 920340],
  needs: "protocol",
};
const EXTENSION: WafRule = {
  id: "PROTOCOL-011",
  category: "protocol",
  score: CRITICAL_SCORE,
  description: "path with an extension that `waf.protocol` restricts",
  crs: [920440],
  needs: "protocol",
};
const HEADER: WafRule = {
  id: "PROTOCOL-012",
  category: "protocol",
  score: CRITICAL_SCORE,
  description: "header field that `waf.protocol` restricts",
  crs: [920450, 920451],
  needs: "protocol",
};
const NO_BROWSER: WafRule = {
  id: "PROTOCOL-013",
  category: "protocol",
  score: NOTICE_SCORE,
  description: "no User-Agent, or a Host that is an address",
  crs: [920320, 920330, 920350],
  needs: "protocol",
};
const FILE: WafRule = {
  id: "FILES-002",
  category: "files",
  score: CRITICAL_SCORE,
  description: "path with a file or folder that `waf.protocol` restricts",
  crs: [930130],
  needs: "protocol",
};

/** The rules of the profile, which count only if it is on. */
export const PROTOCOL_RULES: readonly WafRule[] = [METHOD, CONTENT_TYPE, EXTENSION, HEADER, NO_BROWSER, FILE];

/** What `waf.protocol` says. */
type ProtocolSettings = WafConfig["protocol"];

/** Takes what is found in a head. */
interface HeadFindings {
  /** A rule on a part of the head has matched. @param text what is shown of it, one character a byte */
  foundInHead(rule: WafRule, location: IncidentLocation, param: string, text: string): void;
}

/** Judges a head by lists of what an application takes, if it is asked to. docs/waf.md#the-protocol-profile */
export class ProtocolProfile {
  private readonly methods: ReadonlySet<string>;
  private readonly types: ReadonlySet<string>;
  private readonly extensions: ReadonlySet<string>;
  private readonly files: ReadonlySet<string>;
  private readonly headers: ReadonlySet<string>;

  constructor(settings: ProtocolSettings) {
    this.methods = new Set(settings.methods);
    this.types = lowered(settings.contentTypes);
    this.extensions = new Set(settings.restrictedExtensions.map((one) => one.toLowerCase().replace(/^\./, "")));
    this.files = lowered(settings.restrictedFiles);
    this.headers = lowered(settings.headers);
  }

  /** Null if the profile is off. */
  static of(settings: ProtocolSettings | null | undefined): ProtocolProfile | null {
    return settings?.enabled === true ? new ProtocolProfile(settings) : null;
  }

  /** Looks at method, path and fields. */
  inspect(head: RequestHead, findings: HeadFindings): void {
    const method = head.methodText();
    if (this.methods.size > 0 && !this.methods.has(method)) findings.foundInHead(METHOD, "url", "", method);
    this.inspectPath(head, findings);
    this.inspectFields(head.headers, findings);
    if (head.hasBody() && this.types.size > 0) this.inspectType(head.headers, findings);
  }

  private inspectPath(head: RequestHead, findings: HeadFindings): void {
    const path = decodeFully(head.path()).text.toLowerCase();
    const segments = path.split("/");
    if (this.files.size > 0 && segments.some((segment) => this.files.has(segment)))
      findings.foundInHead(FILE, "url", "", path);
    const last = segments[segments.length - 1]!.replace(/[;\0].*$/s, "");
    const dot = last.lastIndexOf(".");
    if (dot >= 0 && this.extensions.has(last.slice(dot + 1))) findings.foundInHead(EXTENSION, "url", "", path);
  }

  private inspectFields(headers: HeaderBlock, findings: HeadFindings): void {
    for (let i = 0; i < headers.count; i++) {
      const name = headers.nameText(i).toLowerCase();
      if (this.headers.has(name)) findings.foundInHead(HEADER, "header", name, headers.valueText(i));
    }
    const agent = headers.find(HeaderId.UserAgent);
    const host = headers.find(HeaderId.Host);
    if (agent < 0 || headers.valueText(agent).trim() === "")
      findings.foundInHead(NO_BROWSER, "header", "user-agent", "");
    else if (host >= 0 && IS_ADDRESS.test(headers.valueText(host)))
      findings.foundInHead(NO_BROWSER, "header", "host", headers.valueText(host));
  }

  private inspectType(headers: HeaderBlock, findings: HeadFindings): void {
    const at = headers.find(HeaderId.ContentType);
    const type = at < 0 ? "" : headers.valueText(at).split(";")[0]!.trim().toLowerCase();
    const suffix = type.lastIndexOf("+");
    const isListed = this.types.has(type) || (suffix > 0 && this.types.has(`*${type.slice(suffix)}`));
    if (!isListed) findings.foundInHead(CONTENT_TYPE, "header", "content-type", type);
  }
}

function lowered(words: readonly string[]): ReadonlySet<string> {
  return new Set(words.map((one) => one.toLowerCase()));
}

const IS_ADDRESS = /^(?:\d{1,3}(?:\.\d{1,3}){3}|\[[0-9a-f:.]+\])(?::\d+)?$/i;
