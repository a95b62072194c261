import { KeywordAutomaton } from "../match/keyword-automaton.ts";
import { KEYWORD_GROUPS } from "./keywords.ts";

/** The automaton of all keywords; made when it is asked for first, since a gateway without a WAF needs none. */
export function keywordAutomaton(): KeywordAutomaton {
  made ??= new KeywordAutomaton(KEYWORD_GROUPS);
  return made;
}

let made: KeywordAutomaton | null = null;
