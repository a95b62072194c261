import { hostPattern } from "../../config/host-kinds.ts";
import { list, pairs, resolved, type Spot } from "../../config/piece.ts";
import { block, type ConfigOf, type Rows, type Values } from "../../config/row.ts";
import { fileName, flag, folderName, secret, text, textLike, word } from "../../config/scalars.ts";
import { socketPath } from "../../config/socket-kinds.ts";
import { checkBothOrNeither } from "../../config/tls-settings.ts";
import { isThisMachine } from "../../core/ip-address.ts";

/** `providers.directory`. docs/providers.md#directory */
export const directory = block(
  {
    path: {
      type: folderName(),
      default: "",
      example: "./routes.d",
      doc: "every .yaml and .yml file below it is a list of routes",
    },
    watch: {
      type: flag(),
      default: true,
      doc: "true: edge takes up files as they change, and leaves out a faulty one alone",
    },
    hosts: {
      type: pairs(list(hostPattern(), "host names"), "file: [host]"),
      example: { "team-a.yaml": ["*.a.example"] },
      doc: "files whose routes may only have these hosts",
    },
  },
  {
    shorthand: "path",
    check({ path, hosts }, { log, path: at }) {
      if (path === "" && hosts.length > 0) log.fault(at, "needs path: the folder of the files");
    },
  },
);

/** Where an engine listens: `unix:/run/docker.sock`, resolved with an absolute path, or `tcp://127.0.0.1:2375`. */
const endpoint = resolved(
  textLike(
    /^(unix:(\/\/(?=\/))?[^:?#]+|tcp:\/\/[\w.-]+:\d{1,5}|tcp:\/\/\[[\da-f:]+\]:\d{1,5})$/i,
    "unix:/var/run/docker.sock or tcp://127.0.0.1:2375",
  ),
  (value, spot) =>
    /^unix:/i.test(value) ? `unix:${socketPath(value.replace(/^unix:(\/\/(?=\/))?/i, ""), spot)}` : value.toLowerCase(),
);

/** The keys of all sources of labels. @param of the owners of labels */
const labelRows = (of: string) =>
  ({
    exposed_by_default: {
      type: flag(),
      default: false,
      doc: `true: ${of} without edge.enable have routes, too`,
    },
    default_host: {
      type: text("a host name with {name}"),
      default: "{name}.localhost",
      doc: "the host of routes without one; {name} is the container's or service's name",
    },
    labels: {
      type: list(word("edge", "traefik"), "kinds of labels", true),
      example: ["edge", "traefik"],
      doc: "which labels edge reads: edge, traefik, or both by default",
    },
    constraints: {
      type: list(textLike(/^[^=\s]+=.*$/, "label=value"), "label=value", true),
      example: ["com.example.stage=production"],
      doc: `labels that ${of} must have, all of them`,
    },
    trusted: {
      type: flag(),
      default: false,
      doc: "true: edge trusts labels as much as your routes.yaml",
    },
  }) as const satisfies Rows;

function checkDefaultHost({ default_host: host }: { readonly default_host: string }, { log, path }: Spot): void {
  if (!host.includes("{name}")) log.fault([...path, "default_host"], "needs {name}: they would share it");
}

/** `providers.docker`. docs/providers.md#docker-and-podman */
export const docker = block(
  {
    endpoint: {
      type: endpoint,
      default: "unix:/var/run/docker.sock",
      doc: "the socket of Docker or Podman, or tcp://127.0.0.1:2375; edge only reads",
    },
    network: {
      type: text("the name of a network"),
      default: "",
      example: "web",
      doc: "the network whose addresses are the targets; the container's first by default",
    },
    ...labelRows("containers"),
  },
  { shorthand: "endpoint", check: checkDefaultHost },
);

/** The server of a store or catalog. A password in the address would stand in every log. */
const storeUrl = () =>
  textLike(/^https?:\/\/(\[[\da-f:.]+\]|[\w.-]+)(:\d{1,5})?\/?$/i, "an address such as https://10.0.0.5:8501");

const tlsFiles = {
  ca_file: {
    type: fileName(),
    default: "",
    example: "./ca.pem",
    doc: "roots that edge trusts; the system's by default",
  },
  // Resolved, these two are `clientCertificate`, whose files are "" if there is none.
  cert_file: { type: fileName(), default: "", field: "", example: "./client.pem", doc: "edge's certificate, in PEM" },
  key_file: { type: fileName(), default: "", field: "", example: "./client-key.pem", doc: "the key of cert_file" },
} as const satisfies Rows;

/** How a store is reached over TLS, and as whom. */
const storeTls = block(tlsFiles, {
  check: ({ cert_file, key_file }, spot) => checkBothOrNeither(cert_file, key_file, spot),
  finish: (_, { ca_file, cert_file, key_file }, { path, files }) => ({
    caFile: files.bundle([...path, "ca_file"], ca_file),
    clientCertificate: files.pair([...path, "cert_file"], cert_file, [...path, "key_file"], key_file),
  }),
  list: ({ clientCertificate: { certFile, keyFile } }, lines) => ({ ...lines, cert_file: certFile, key_file: keyFile }),
});

const tlsRow = { tls: { type: storeTls, doc: "TLS for https://" } } as const satisfies Rows;

const boundRow = (of: string, example: Readonly<Record<string, readonly string[]>>) =>
  ({
    hosts: {
      type: pairs(list(hostPattern(), "host names"), "name: [host]"),
      example,
      doc: `${of} whose routes may only have these hosts; "*" stands for all others`,
    },
  }) as const satisfies Rows;

interface StoreValues {
  readonly tls: Values<typeof tlsFiles>;
}

function checkStore(
  { tls: { ca_file, cert_file } }: StoreValues,
  urls: readonly string[],
  secrets: readonly string[],
  { log, path }: Spot,
): void {
  const isClear = urls.some((url) => /^http:/i.test(url));
  if (isClear && ca_file + cert_file !== "") log.warn([...path, "tls"], "has no effect with http://");
  const isFar = urls.some((url) => /^http:/i.test(url) && URL.canParse(url) && !isThisMachine(new URL(url).hostname));
  for (const key of isFar ? secrets : [])
    log.warn([...path, key], "goes over the network in clear text: use https://, or take care of the network");
}

function checkCatalog(
  values: StoreValues & { readonly endpoint: string; readonly token: string; readonly default_host: string },
  spot: Spot,
): void {
  checkDefaultHost(values, spot);
  checkStore(values, [values.endpoint], values.token === "" ? [] : ["token"], spot);
}

/** `providers.consul`. docs/providers.md#consul */
export const consul = block(
  {
    endpoint: { type: storeUrl(), default: "http://127.0.0.1:8500", doc: "your Consul agent or server" },
    token: {
      type: secret("a token"),
      default: "",
      example: "${CONSUL_TOKEN:-secret}",
      doc: "a token with service:read and node:read",
    },
    datacenter: {
      type: text("the name of a datacenter"),
      default: "",
      example: "dc1",
      doc: "the datacenter; the agent's by default",
    },
    namespace: {
      type: text("the name of a namespace"),
      default: "",
      example: "shop",
      doc: "a namespace of Consul Enterprise",
    },
    ...labelRows("services"),
    ...boundRow("services", { shop: ["shop.example"] }),
    ...tlsRow,
  },
  {
    shorthand: "endpoint",
    check: checkCatalog,
  },
);

/** `providers.nomad`. docs/providers.md#nomad */
export const nomad = block(
  {
    endpoint: { type: storeUrl(), default: "http://127.0.0.1:4646", doc: "your Nomad agent or server" },
    token: {
      type: secret("a token"),
      default: "",
      example: "${NOMAD_TOKEN:-secret}",
      doc: "a token with read-job in the namespace",
    },
    namespace: {
      type: text("the name of a namespace"),
      default: "default",
      example: "shop",
      doc: 'the namespace; "*" for all that your token may read',
    },
    region: {
      type: text("the name of a region"),
      default: "",
      example: "europe",
      doc: "the region; the agent's by default",
    },
    ...labelRows("services"),
    ...boundRow("services", { shop: ["shop.example"] }),
    ...tlsRow,
  },
  {
    shorthand: "endpoint",
    check: checkCatalog,
  },
);

/** `providers.etcd`. docs/providers.md#etcd */
export const etcd = block(
  {
    endpoints: {
      type: list(storeUrl(), "addresses", true),
      example: ["https://10.0.0.5:2379", "https://10.0.0.6:2379"],
      doc: "members of one cluster: edge tries the next if one is down. By default http://127.0.0.1:2379",
    },
    prefix: {
      type: textLike(/^\/?[^\0\s]{1,512}$/, "a prefix of keys such as /edge/routes/"),
      default: "/edge/routes/",
      doc: "the value of each key below it is a route, or a list of routes",
    },
    user: { type: text("the name of a user"), default: "", example: "edge", doc: "a user that may read the prefix" },
    password: {
      type: secret("a password"),
      default: "",
      example: "${ETCD_PASSWORD:-secret}",
      doc: "the user's password",
    },
    trusted: { type: flag(), default: false, doc: "true: edge trusts these routes as much as your routes.yaml" },
    ...boundRow("keys and folders of keys", { "team-a": ["*.a.example"] }),
    ...tlsRow,
  },
  {
    shorthand: "endpoints",
    check(values, spot) {
      const { user, password } = values;
      if ((user === "") !== (password === ""))
        spot.log.fault([...spot.path, user === "" ? "user" : "password"], "user and password belong together");
      checkStore(values, values.endpoints, password === "" ? [] : ["password"], spot);
    },
  },
);

export type ConsulConfig = ConfigOf<typeof consul>;
export type NomadConfig = ConfigOf<typeof nomad>;
export type EtcdConfig = ConfigOf<typeof etcd>;
export type DirectoryConfig = ConfigOf<typeof directory>;
export type DockerConfig = ConfigOf<typeof docker>;
export type StoreTlsConfig = ConfigOf<typeof storeTls>;
