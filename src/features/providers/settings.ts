import { hostPattern } from "../../config/host-kinds.ts";
import { list, pairs, resolved } from "../../config/piece.ts";
import { block, type ConfigOf } from "../../config/row.ts";
import { flag, folderName, text, textLike, word } from "../../config/scalars.ts";
import { socketPath } from "../../config/socket-kinds.ts";

/** `providers.directory`. docs/providers.md#directory */
export const directory = block(
  {
    path: {
      type: folderName(),
      default: "",
      example: "./routes.d",
      doc: "every .yaml and .yml file below it is a list of routes",
    },
    watch: { type: flag(), default: true, doc: "take files up as they change, and leave a faulty one out alone" },
    hosts: {
      type: pairs(list(hostPattern(), "host names"), "file: [host]"),
      example: { "team-a.yaml": ["*.a.example"] },
      doc: "files whose routes may have these hosts alone",
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

/** `providers.docker`. docs/providers.md#docker-and-podman */
export const docker = block(
  {
    endpoint: {
      type: endpoint,
      default: "unix:/var/run/docker.sock",
      doc: "the engine's socket, Podman's too; or tcp://127.0.0.1:2375. edge only reads",
    },
    exposed_by_default: { type: flag(), default: false, doc: "true: containers without edge.enable have routes, too" },
    network: {
      type: text("the name of a network"),
      default: "",
      example: "web",
      doc: "the network whose addresses are the targets; the container's first by default",
    },
    default_host: {
      type: text("a host name with {name}"),
      default: "{name}.localhost",
      doc: "the host of routes that name none; {name} is the container's",
    },
    labels: {
      type: list(word("edge", "traefik"), "kinds of labels", true),
      example: ["edge", "traefik"],
      doc: "which labels edge reads: both by default",
    },
    constraints: {
      type: list(textLike(/^[^=\s]+=.*$/, "label=value"), "label=value", true),
      example: ["com.example.stage=production"],
      doc: "labels that containers must have, all of them",
    },
    trusted: {
      type: flag(),
      default: false,
      doc: "true: labels may name files, sockets, variables, modules and hosts of other sources",
    },
  },
  {
    shorthand: "endpoint",
    check({ default_host: host }, { log, path }) {
      if (!host.includes("{name}")) log.fault([...path, "default_host"], "needs {name}: containers would share it");
    },
  },
);

export type DirectoryConfig = ConfigOf<typeof directory>;
export type DockerConfig = ConfigOf<typeof docker>;
