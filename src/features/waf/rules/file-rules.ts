import { CRITICAL_SCORE, WARNING_SCORE } from "../waf-rule.ts";
import { Sign } from "./sign.ts";
import type { ValueRule } from "./value-rule.ts";

/** Names of local files, and of files elsewhere, in values. */
export const FILE_RULES: readonly ValueRule[] = [
  {
    id: "LFI-001",
    category: "lfi",
    score: WARNING_SCORE,
    description: "a path that climbs three folders or more",
    sign: Sign.ClimbingPath,
  },
  {
    id: "LFI-002",
    category: "lfi",
    score: CRITICAL_SCORE,
    description: "a file of the system, or one that holds secrets",
    sign: Sign.SensitiveFile,
  },
  {
    id: "LFI-003",
    category: "lfi",
    score: CRITICAL_SCORE,
    description: "a wrapper that reads files",
    sign: Sign.StreamWrapper,
  },
  {
    id: "LFI-004",
    category: "lfi",
    score: CRITICAL_SCORE,
    description: "an entity that makes an XML parser read a file or a URL",
    sign: Sign.ExternalEntity,
  },
  {
    id: "RFI-001",
    category: "rfi",
    score: CRITICAL_SCORE,
    description: "a program or its text at an address without a name",
    sign: Sign.IncludedScript,
  },
  {
    id: "RFI-002",
    category: "rfi",
    score: CRITICAL_SCORE,
    description: "a program or its text elsewhere, where a file of the server is due",
    sign: Sign.IncludedUrl,
  },
  {
    id: "RFI-003",
    category: "rfi",
    score: CRITICAL_SCORE,
    description: "a URL that cuts off what the application appends to it",
    sign: Sign.TruncatedUrl,
  },
  {
    id: "RFI-004",
    category: "rfi",
    score: CRITICAL_SCORE,
    description: "a share of a Windows network, where a file or a URL is due",
    sign: Sign.NetworkShare,
  },
];
