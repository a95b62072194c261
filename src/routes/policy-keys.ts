import type { FormRow } from "../config/form.ts";
import { ROUTE_OPTIONS } from "./route-options.ts";
import { upstreamKeys } from "./upstream/upstream-keys.ts";

/**
 * Keys of routes that no EdgePolicy has, each with its reason. Every other key of an upstream route is one of the policy's, a new one as well.
 * docs/kubernetes-policies.md
 */
const NO_POLICY_KEYS: Readonly<Record<string, string>> = {
  target: "the object that the policy is attached to names the servers",
  targets: "the object that the policy is attached to names the servers",
  canary: "weights of backendRefs name the servers",
  mirror: "the filter RequestMirror names the server",
  methods: "matches of the route name methods",
  match: "matches of the route say which requests it takes",
  listeners: "parentRefs of the route name listeners",
  rewrite: "the filter URLRewrite says what becomes of the path",
  strip_prefix: "the filter URLRewrite says what becomes of the path",
  acme_challenge: "edge obtains certificates for the cluster",
  errors: "its pages are files",
  hooks: "its modules are files",
  ai: "its models name targets, and its keys are secrets",
  fastcgi: "scripts are files of the server's",
  uwsgi: "the protocol of a Service is HTTP",
  scgi: "the protocol of a Service is HTTP",
  tls: "BackendTLSPolicy says how edge speaks to the servers",
  sign: "its keys are files",
};

/** The keys of an EdgePolicy: what a route may say, but for those above. docs/kubernetes-policies.md */
export const POLICY_KEYS: Readonly<Record<string, FormRow>> = Object.fromEntries(
  Object.entries<FormRow>({ ...ROUTE_OPTIONS.rows, ...upstreamKeys.rows }).filter(([key]) => !(key in NO_POLICY_KEYS)),
);

/** In a policy, references to a Secret in place of a file: the key of the file, and that of the values themselves. */
export const SECRET_LISTS: Readonly<Record<string, { readonly file: string; readonly values: string }>> = {
  users_secret: { file: "users_file", values: "users" },
  keys_secret: { file: "keys_file", values: "keys" },
};
