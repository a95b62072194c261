import { hostPattern } from "../../config/host-kinds.ts";
import { list, pairs } from "../../config/piece.ts";
import { block, type ConfigOf } from "../../config/row.ts";
import { flag, folderName } from "../../config/scalars.ts";

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

export type DirectoryConfig = ConfigOf<typeof directory>;
