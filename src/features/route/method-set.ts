import { METHOD_COUNT, Method, methodFromName, methodName } from "../../message/request-head.ts";

/** The methods of a route as a 405 and a lookup need them. */
export interface MethodSet {
  /** 1 for each allowed method (by Method). */
  readonly allowed: Uint8Array;
  /** The value of Allow. */
  readonly allow: string;
}

/**
 * Makes the set that a route's `methods` name: none named is all; HEAD is allowed wherever GET is; CONNECT
 * and TRACE never are. docs/routing.md#methods
 * @throws Error at start-up for a name that the gateway does not tell apart from other unknown ones
 */
export function methodSet(names: readonly string[]): MethodSet {
  return names.length === 0 ? EVERY_METHOD : setOf(names);
}

function setOf(names: readonly string[]): MethodSet {
  const allowed = new Uint8Array(METHOD_COUNT);
  if (names.length === 0) allowed.fill(1);
  for (const name of names) {
    const method = methodFromName(name);
    if (method === Method.Other) throw new Error(`unknown method "${name}" in a route`);
    allowed[method] = 1;
  }
  if (allowed[Method.Get] === 1) allowed[Method.Head] = 1;
  allowed[Method.Connect] = 0;
  allowed[Method.Trace] = 0;
  return { allowed, allow: allowValue(allowed) };
}

/** The value of Allow for methods marked with 1. Unknown methods are allowed but not listed: they have no name here. */
export function allowValue(allowed: Uint8Array): string {
  const names: string[] = [];
  for (let method = Method.Get; method < METHOD_COUNT; method++) {
    if (allowed[method] === 1) names.push(methodName(method));
  }
  return names.join(", ");
}

const EVERY_METHOD: MethodSet = setOf([]);
/** What a 405 for CONNECT or TRACE lists if no route says more. */
export const ALL_METHODS: string = EVERY_METHOD.allow;
