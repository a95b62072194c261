import { version } from "../../package.json";

/** The gateway's version, SemVer without a `v`: the same string wherever it is shown. docs/tools.md */
export const VERSION: string = version;

/** Name and version of the JavaScript engine, such as `bun/1.4.5`. */
export const ENGINE: string = `bun/${process.versions.bun}`;
