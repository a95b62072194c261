import { CRITICAL_SCORE, NOTICE_SCORE } from "../waf-rule.ts";
import { Sign } from "./sign.ts";
import type { ValueRule } from "./value-rule.ts";

/** Programs for browsers in values. */
export const XSS_RULES: readonly ValueRule[] = [
  {
    id: "XSS-001",
    category: "xss",
    score: CRITICAL_SCORE,
    description: "a script element with a source or a program",
    sign: Sign.ScriptElement,
  },
  {
    id: "XSS-002",
    category: "xss",
    score: CRITICAL_SCORE,
    description: "an attribute that holds a program: onerror, onload, srcdoc, …",
    sign: Sign.EventHandler,
  },
  {
    id: "XSS-003",
    category: "xss",
    score: CRITICAL_SCORE,
    description: "a URL that runs a script or holds a document",
    sign: Sign.ScriptUrl,
  },
  {
    id: "XSS-004",
    category: "xss",
    score: CRITICAL_SCORE,
    description: "an element in a query or a header that loads another document or sends the browser elsewhere",
    sign: Sign.ActiveElement,
  },
  {
    id: "XSS-005",
    category: "xss",
    score: NOTICE_SCORE,
    description: "such an element in a body, where an article may embed a video",
    sign: Sign.EmbeddedElement,
  },
  {
    id: "XSS-006",
    category: "xss",
    score: CRITICAL_SCORE,
    description: "a program behind a quote or a bracket that closes one of the page's",
    sign: Sign.ScriptBreakout,
  },
  {
    id: "XSS-007",
    category: "xss",
    score: CRITICAL_SCORE,
    description: "a program that steals, hides or proves itself",
    sign: Sign.ScriptSink,
  },
  {
    id: "XSS-008",
    category: "xss",
    score: CRITICAL_SCORE,
    description: "an expression of a page's template that leaves its sandbox",
    sign: Sign.TemplateScript,
  },
];
