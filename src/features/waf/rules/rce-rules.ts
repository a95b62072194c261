import { CRITICAL_SCORE, ERROR_SCORE, NOTICE_SCORE } from "../waf-rule.ts";
import { Sign } from "./sign.ts";
import type { ValueRule } from "./value-rule.ts";

/** Commands and programs for servers in values. */
export const RCE_RULES: readonly ValueRule[] = [
  {
    id: "RCE-001",
    category: "rce",
    score: CRITICAL_SCORE,
    description: "a command of a shell behind a separator",
    sign: Sign.ShellCommand,
  },
  {
    id: "RCE-002",
    category: "rce",
    score: NOTICE_SCORE,
    description: "a command that may be a column of a list, or a line of a manual",
    sign: Sign.ShellWord,
  },
  {
    id: "RCE-003",
    category: "rce",
    score: CRITICAL_SCORE,
    description: "a command that a shell would put in its place",
    sign: Sign.ShellSubstitution,
  },
  {
    id: "RCE-004",
    category: "rce",
    score: CRITICAL_SCORE,
    description: "what only attacks write for shells",
    sign: Sign.ShellIdiom,
  },
  {
    id: "RCE-005",
    category: "rce",
    score: CRITICAL_SCORE,
    description: "a call of PHP that runs programs, or a setting that lets them in",
    sign: Sign.PhpCode,
  },
  {
    id: "RCE-006",
    category: "rce",
    score: ERROR_SCORE,
    description: "the tag that begins PHP",
    sign: Sign.PhpTag,
  },
  {
    id: "RCE-007",
    category: "rce",
    score: CRITICAL_SCORE,
    description: "Java that an expression language or an unpacker would run",
    sign: Sign.JavaCode,
  },
  {
    id: "RCE-008",
    category: "rce",
    score: CRITICAL_SCORE,
    description: "Python, Ruby or Node that leads to the system, and expressions that try a template",
    sign: Sign.ScriptCode,
  },
  {
    id: "RCE-009",
    category: "rce",
    score: CRITICAL_SCORE,
    description: "the function that a shell with CVE-2014-6271 runs",
    sign: Sign.Shellshock,
  },
  {
    id: "RCE-010",
    category: "rce",
    score: CRITICAL_SCORE,
    description: "a packed object of Java, .NET, PHP, Python or Node",
    sign: Sign.SerializedObject,
  },
  {
    id: "RCE-011",
    category: "rce",
    score: CRITICAL_SCORE,
    description: "a name that reaches the prototype of all objects",
    sign: Sign.PrototypePollution,
  },
  {
    id: "RCE-012",
    category: "rce",
    score: CRITICAL_SCORE,
    description: "an uploaded file that a server would run, or that leaves its folder",
    sign: Sign.ScriptUpload,
  },
];
