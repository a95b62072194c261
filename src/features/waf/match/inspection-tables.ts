import { AGENT_FAMILIES, BODY_FAMILIES, EXTENSION_FAMILIES, QUERY_FAMILIES } from "../rules/family.ts";
import { KEYWORD_GROUPS } from "../rules/keywords.ts";
import { spellingsOf } from "./byte-class.ts";
import { KeywordAutomaton } from "./keyword-automaton.ts";
import { KeywordFilter } from "./keyword-filter.ts";

/** What is computed once from the keywords: a filter for each kind of place, and the automaton that tells families. */
export interface InspectionTables {
  readonly automaton: KeywordAutomaton;
  readonly query: KeywordFilter;
  readonly body: KeywordFilter;
  readonly agent: KeywordFilter;
  readonly header: KeywordFilter;
}

/** The tables; made when they are asked for first, since a gateway without a WAF needs none. */
export function inspectionTables(): InspectionTables {
  made ??= make();
  return made;
}

function make(): InspectionTables {
  const groups = KEYWORD_GROUPS.map(({ bit, keywords }) => ({ bit, spellings: keywords.flatMap(spellingsOf) }));
  const filterOf = (families: number) =>
    new KeywordFilter(groups.filter(({ bit }) => (bit & families) !== 0).flatMap(({ spellings }) => spellings));
  return {
    automaton: new KeywordAutomaton(groups),
    query: filterOf(QUERY_FAMILIES),
    body: filterOf(BODY_FAMILIES),
    agent: filterOf(AGENT_FAMILIES),
    header: filterOf(EXTENSION_FAMILIES),
  };
}

let made: InspectionTables | null = null;
