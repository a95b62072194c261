/**
 * Sources of routes, in the order that decides between two of the same host, path and match. docs/providers.md#which-route-wins
 */
const ROUTE_SOURCES = [
  "file",
  "directory",
  "api",
  "etcd",
  "docker",
  "consul",
  "nomad",
  "kubernetes",
  "remote",
] as const;

export type RouteSource = (typeof ROUTE_SOURCES)[number];

/** The source of a route, and the file, the name or the container there. */
export interface RouteOrigin {
  readonly source: RouteSource;
  readonly name: string;
}
