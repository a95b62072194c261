import { CRITICAL_SCORE, ERROR_SCORE, NOTICE_SCORE } from "../waf-rule.ts";
import { Sign } from "./sign.ts";
import type { ValueRule } from "./value-rule.ts";

/** Requests that a server is made to send, lookups of loggers, scanners, and abuse of HTTP itself. */
export const REQUEST_RULES: readonly ValueRule[] = [
  {
    id: "SSRF-001",
    category: "ssrf",
    score: CRITICAL_SCORE,
    description: "the address at which clouds give out credentials",
    sign: Sign.MetadataService,
  },
  {
    id: "SSRF-002",
    category: "ssrf",
    score: CRITICAL_SCORE,
    description: "this machine, where the server is to fetch something",
    sign: Sign.LoopbackUrl,
  },
  {
    id: "SSRF-003",
    category: "ssrf",
    score: CRITICAL_SCORE,
    description: "an internal network, where the server is to fetch something",
    sign: Sign.InternalUrl,
  },
  {
    id: "SSRF-004",
    category: "ssrf",
    score: NOTICE_SCORE,
    description: "this machine or an internal network in a value that is hardly for fetching",
    sign: Sign.InternalMention,
  },
  {
    id: "SSRF-005",
    category: "ssrf",
    score: CRITICAL_SCORE,
    description: "an address that is written as nobody writes it",
    sign: Sign.DisguisedAddress,
  },
  {
    id: "SSRF-006",
    category: "ssrf",
    score: CRITICAL_SCORE,
    description: "a scheme that speaks to something else than web servers",
    sign: Sign.OddScheme,
  },
  {
    id: "SSRF-007",
    category: "ssrf",
    score: CRITICAL_SCORE,
    description: "a domain that leads to any address, or that tells attackers of visits",
    sign: Sign.CallbackDomain,
  },
  {
    id: "LOG4J-001",
    category: "log4j",
    score: CRITICAL_SCORE,
    description: "a lookup by which a logger fetches and runs a program",
    sign: Sign.JndiLookup,
  },
  {
    id: "LOG4J-002",
    category: "log4j",
    score: ERROR_SCORE,
    description: "lookups within lookups",
    sign: Sign.NestedLookup,
  },
  {
    id: "SCANNER-001",
    category: "scanner",
    score: CRITICAL_SCORE,
    description: "the name of an attack tool in User-Agent or a field of its own",
    sign: Sign.ScannerAgent,
  },
  {
    id: "PROTOCOL-001",
    category: "protocol",
    score: CRITICAL_SCORE,
    description: "a line break with a header field or a status line behind it",
    sign: Sign.HeaderInjection,
  },
  {
    id: "PROTOCOL-002",
    category: "protocol",
    score: CRITICAL_SCORE,
    description: "a byte 0 in a value",
    sign: Sign.NulByte,
  },
  {
    id: "PROTOCOL-003",
    category: "protocol",
    score: CRITICAL_SCORE,
    description: "more layers of encoding than any client makes",
    sign: Sign.OverEncoding,
  },
  {
    id: "PROTOCOL-004",
    category: "protocol",
    score: CRITICAL_SCORE,
    description: "a body in a character set that hides what it says",
    sign: Sign.HiddenCharset,
  },
  {
    id: "PROTOCOL-005",
    category: "protocol",
    score: CRITICAL_SCORE,
    description: "a multipart body that cannot be taken apart",
    sign: Sign.UnreadableBody,
  },
  {
    id: "PROTOCOL-006",
    category: "protocol",
    score: CRITICAL_SCORE,
    description: "an entity of XML that is made of many others, so that the document grows when it is read",
    sign: Sign.GrowingEntity,
  },
];
