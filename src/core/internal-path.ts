/**
 * Whether a route is one of the gateway's own endpoints for operators: what is asked there, such as the stream of the dashboard, is no traffic of
 * clients. docs/endpoints.md#built-in-endpoints
 * @param label the path of a route
 */
export function isInternalPath(label: string): boolean {
  return label.startsWith("/internal/") || label === "/metrics";
}
