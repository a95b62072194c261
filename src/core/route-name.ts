/** Bytes of one route of the API at most. */
export const MAX_ROUTE_BYTES = 1_048_576;

/** What names of routes of the API have, for people. */
export const ROUTE_NAME_PARTS = "letters, digits, dots, dashes and underscores, at most 128";

/** Whether a text can be the name of a route of the API: a part of a path that no client takes for a step. docs/providers.md#api */
export function isRouteName(text: string): boolean {
  return ROUTE_NAME.test(text);
}

const ROUTE_NAME = /^(?!\.{1,2}$)[A-Za-z0-9._-]{1,128}$/;
