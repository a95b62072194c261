import type { Handler, RouteInit } from "../../../../src/message/exchange.ts";
import { ChunkedMode, RouteKind } from "../../../../src/message/route.ts";

/** A route as a vector file writes it. */
export interface RouteVector {
  readonly kind: string;
  readonly label: string;
  readonly path: string;
  readonly exact?: boolean;
  readonly methods?: readonly string[];
  readonly hosts?: readonly string[];
  readonly stripPrefix?: boolean;
}

/** The route of a vector, with everything else at its default. */
export function routeInit(vector: RouteVector): RouteInit {
  return {
    kind: KINDS[vector.kind]!,
    label: vector.label,
    path: vector.path,
    exact: vector.exact ?? false,
    methods: vector.methods ?? [],
    hosts: vector.hosts ?? [],
    stripPrefix: vector.stripPrefix ?? true,
    chunkedMode: ChunkedMode.Normalize,
    maxBodyBytes: 0,
    handler: NO_HANDLER,
  };
}

const KINDS: Readonly<Record<string, RouteKind>> = {
  "built-in": RouteKind.BuiltIn,
  static: RouteKind.Static,
  upstream: RouteKind.Upstream,
};

const NO_HANDLER: Handler = {
  name: "none",
  handle() {
    throw new Error("not called in these tests");
  },
};
