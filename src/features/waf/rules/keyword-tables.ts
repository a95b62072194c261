import { KeywordAutomaton, keywordMemory } from "../match/keyword-automaton.ts";
import { KEYWORD_GROUPS } from "./keywords.ts";

/** The automaton of all keywords; made when it is asked for first, since a gateway without a WAF needs none. */
export function keywordAutomaton(): KeywordAutomaton {
  made ??= KeywordAutomaton.of(KEYWORD_GROUPS);
  return made;
}

/** The tables of all keywords for the workers, so that they are made once and not by each. */
export function sharedKeywords(): SharedArrayBuffer {
  return keywordMemory(KEYWORD_GROUPS);
}

/** @param memory what `sharedKeywords` gave, on another thread */
export function adoptKeywords(memory: SharedArrayBuffer): void {
  made ??= KeywordAutomaton.from(memory);
}

let made: KeywordAutomaton | null = null;
