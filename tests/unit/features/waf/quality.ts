// How well the rules tell attacks from ordinary requests: the numbers behind tests/vectors/waf/quality.md.
import { Fault } from "../../../../src/core/fault.ts";
import { explainWaf } from "../../../../src/features/waf/waf-explanation.ts";
import lfi from "../../../vectors/waf/lfi.json";
import log4j from "../../../vectors/waf/log4j.json";
import protocol from "../../../vectors/waf/protocol.json";
import rce from "../../../vectors/waf/rce.json";
import rfi from "../../../vectors/waf/rfi.json";
import scanner from "../../../vectors/waf/scanner.json";
import sqli from "../../../vectors/waf/sqli.json";
import ssrf from "../../../vectors/waf/ssrf.json";
import traversal from "../../../vectors/waf/traversal.json";
import xss from "../../../vectors/waf/xss.json";
import { ordinaryRequests } from "./ordinary-requests.ts";
import { inspectVector, NO_ROUTES } from "./vector-request.ts";
import { ENFORCE } from "./waf-settings.ts";

/** What the rules make of the vectors of one category. */
export interface CategoryQuality {
  readonly category: string;
  readonly attacks: number;
  /** Attacks that are blocked, and those that a rule of the category itself found. */
  readonly blocked: number;
  readonly recognised: number;
  readonly missed: readonly string[];
  readonly benign: number;
  /** Look-alikes that are blocked, and those that score at all. */
  readonly falsePositives: readonly string[];
  readonly scored: number;
}

/** What the rules make of ordinary requests. */
export interface OrdinaryQuality {
  readonly requests: number;
  readonly falsePositives: readonly string[];
  /** Requests that score below the threshold. */
  readonly scored: number;
}

/** Scores at which requests are blocked. */
export const THRESHOLD: number = ENFORCE.anomalyThreshold;
/** Ordinary requests that are looked at. */
export const ORDINARY_REQUESTS = 5000;

const VECTORS = { traversal, sqli, xss, rce, lfi, rfi, ssrf, log4j, scanner, protocol };

/** The quality of every category, in the order of the rule table. */
export function categoryQualities(): CategoryQuality[] {
  return Object.entries(VECTORS).map(([category, { attacks, benign }]) => {
    const hits = attacks.map((vector) => ({ vector, result: inspectVector(vector) }));
    const looks = benign.map((vector) => ({ vector, result: inspectVector(vector) }));
    return {
      category,
      attacks: attacks.length,
      blocked: hits.filter(({ result }) => result.score >= THRESHOLD).length,
      recognised: hits.filter(({ result }) => result.findings.some((one) => one.rule.category === category)).length,
      missed: hits.filter(({ result }) => result.score < THRESHOLD).map(({ vector }) => vector),
      benign: benign.length,
      falsePositives: looks.filter(({ result }) => result.score >= THRESHOLD).map(({ vector }) => vector),
      scored: looks.filter(({ result }) => result.score > 0).length,
    };
  });
}

/** The quality on ordinary requests. */
export function ordinaryQuality(): OrdinaryQuality {
  const settings = { ...ENFORCE, mode: "detection" } as const;
  const falsePositives: string[] = [];
  let scored = 0;
  for (const request of ordinaryRequests(ORDINARY_REQUESTS)) {
    const { fault, score, rules } = explainWaf(request, settings, NO_ROUTES);
    if (fault !== Fault.None) throw new Error(`${request.target}: not a request (${fault})`);
    if (score >= THRESHOLD)
      falsePositives.push(`${rules.map((rule) => rule.id).join()} ${request.method} ${request.target}`);
    else if (score > 0) scored++;
  }
  return { requests: ORDINARY_REQUESTS, falsePositives, scored };
}
