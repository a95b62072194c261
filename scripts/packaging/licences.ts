// Which packages are in the binary, and what their licences say.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { isoOf, projectFile, type Release, ROOT, sha256 } from "./run.ts";

/** A package that is in the binary. */
export interface Packaged {
  readonly name: string;
  readonly version: string;
  /** As an expression of SPDX. */
  readonly licence: string;
  /** The text that its licence wants to go with it. */
  readonly text: string;
  /** Where it comes from: npm by default. */
  readonly from?: "debian";
}

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly license?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
}

/** The packages that `dependencies` of package.json brings, with theirs, by name and version. */
export function packagedModules(): readonly Packaged[] {
  const found = new Map<string, Packaged>();
  const visit = (folder: string, dependencies: Manifest["dependencies"] = {}): void => {
    for (const name of Object.keys(dependencies)) {
      const at = folderOf(name, folder);
      const manifest = JSON.parse(readFileSync(join(at, "package.json"), "utf8")) as Manifest;
      const key = `${manifest.name}@${manifest.version}`;
      if (found.has(key)) continue;
      found.set(key, { ...manifest, licence: manifest.license ?? "NOASSERTION", text: licenceText(at) });
      visit(at, manifest.dependencies);
    }
  };
  visit(ROOT, (JSON.parse(projectFile("package.json")) as Manifest).dependencies);
  return [...found.keys()].sort().map((key) => found.get(key)!);
}

/** The runtime itself. Bun names what is linked into it in its own list. */
export function runtimePackage(): Packaged {
  const { engines } = JSON.parse(projectFile("package.json")) as { engines: { bun: string } };
  const text = "Bun itself is under the MIT licence; JavaScriptCore, which is linked into it, is under LGPL-2.1.\n";
  return {
    name: "bun",
    version: engines.bun,
    licence: "MIT AND LGPL-2.1-only",
    text: `${text}https://bun.com/docs/project/license\n`,
  };
}

/** The folder in which a package is found from another one. */
function folderOf(name: string, from: string): string {
  for (let folder = from; ; folder = join(folder, "..")) {
    const at = join(folder, "node_modules", name);
    if (existsSync(join(at, "package.json"))) return at;
    if (folder === ROOT) throw new Error(`${name} is not installed`);
  }
}

function licenceText(folder: string): string {
  const names = readdirSync(folder).filter((name) => /^(licen[cs]e|copying|notice)/i.test(name));
  return names
    .sort()
    .map((name) => readFileSync(join(folder, name), "utf8").trim())
    .join("\n\n");
}

/** One text with the licences of all packages. */
export function licenceTexts(all: readonly Packaged[]): string {
  const line = "=".repeat(100);
  const parts = all.map(({ name, version, licence, text }) => `${line}\n${name} ${version}: ${licence}\n\n${text}\n`);
  return `edge is under the Apache License 2.0 (LICENSE). Its binary has these packages in it.\n\n${parts.join("\n")}`;
}

/** The list of packages in SPDX 2.3. https://spdx.github.io/spdx-spec/v2.3/ */
export function spdxList({ version, epoch }: Release, all: readonly Packaged[]): string {
  const idOf = ({ name, version: own }: Packaged) =>
    `SPDXRef-Package-${`${name}-${own}`.replace(/[^A-Za-z0-9.-]/g, "-")}`;
  const edge: Packaged = { name: "edge", version, licence: "Apache-2.0", text: "" };
  const element = (one: Packaged, id: string, place: string) => ({
    SPDXID: id,
    name: one.name,
    versionInfo: one.version,
    downloadLocation: place,
    filesAnalyzed: false,
    licenseConcluded: one.licence,
    licenseDeclared: one.licence,
    copyrightText: "NOASSERTION",
    ...(one === edge ? {} : { externalRefs: [purl(one)] }),
  });
  const packages = [
    element(edge, "SPDXRef-Package-edge", "NOASSERTION"),
    ...all.map((one) => element(one, idOf(one), placeOf(one))),
  ];
  const related = all.map((one) => ({
    spdxElementId: "SPDXRef-Package-edge",
    relationshipType: "CONTAINS",
    relatedSpdxElement: idOf(one),
  }));
  const contents = sha256(Buffer.from(JSON.stringify(packages)));
  const list = {
    spdxVersion: "SPDX-2.3",
    dataLicense: "CC0-1.0",
    SPDXID: "SPDXRef-DOCUMENT",
    name: `edge-${version}`,
    documentNamespace: `https://spdx.org/spdxdocs/edge-${version}-${contents.slice(0, 32)}`,
    creationInfo: { created: isoOf(epoch), creators: ["Tool: scripts/release"] },
    packages,
    relationships: [
      { spdxElementId: "SPDXRef-DOCUMENT", relationshipType: "DESCRIBES", relatedSpdxElement: "SPDXRef-Package-edge" },
      ...related,
    ],
  };
  return `${JSON.stringify(list, null, 2)}\n`;
}

function placeOf({ name, version, from }: Packaged): string {
  return from === "debian" ? "NOASSERTION" : `https://www.npmjs.com/package/${name}/v/${version}`;
}

/** https://github.com/package-url/purl-spec/blob/main/PURL-TYPES.rst */
function purl({ name, version, from }: Packaged): object {
  const path = name.startsWith("@") ? `%40${name.slice(1)}` : name;
  const kind = from === "debian" ? "deb/debian" : "npm";
  return {
    referenceCategory: "PACKAGE-MANAGER",
    referenceType: "purl",
    referenceLocator: `pkg:${kind}/${path}@${encodeURIComponent(version)}`,
  };
}
