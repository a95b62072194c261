import { cpSync, existsSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** The folder with the pages of the newest version: a link to it stays good over releases. */
const NEWEST = "latest";

/**
 * Joins the versions of a site, each in a folder of its name: `versions.js` lists them with their pages for the switch of each page, `latest`
 * is a copy of the newest release (of the newest candidate, if there is no release), and the first page leads there.
 */
export function joinVersions(top: string): void {
  const versions = readdirSync(top)
    .filter((name) => VERSION_NAME.test(name) && existsSync(join(top, name, INDEX)))
    .sort((one, other) => Number(isCandidate(one)) - Number(isCandidate(other)) || Bun.semver.order(other, one));
  const [newest] = versions;
  if (newest === undefined) return;
  const list = versions.map((name) => ({
    name,
    pages: readdirSync(join(top, name)).filter((file) => /\.html$/.test(file)),
  }));
  writeFileSync(join(top, "versions.js"), `globalThis.SITE_VERSIONS = ${JSON.stringify(list)};\n`);
  rmSync(join(top, NEWEST), { recursive: true, force: true });
  cpSync(join(top, newest), join(top, NEWEST), { recursive: true });
  writeFileSync(
    join(top, INDEX),
    `<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<title>edge</title>\n<meta http-equiv="refresh" content="0; url=${NEWEST}/${INDEX}">\n<p><a href="${NEWEST}/${INDEX}">Documentation of edge ${newest}</a></p>\n</html>\n`,
  );
}

const isCandidate = (version: string) => version.includes("-");
const VERSION_NAME = /^\d+\.\d+\.\d+(?:-[\w.]+)?$/;
const INDEX = "index.html";
