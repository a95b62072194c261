import { readFileSync } from "node:fs";
import { join } from "node:path";
import { freePort, type Gateway, startGateway } from "./gateway.ts";

/** Both files of one recipe, as a page of docs shows them. */
export interface Recipe {
  readonly config: string;
  readonly routes: string;
}

/**
 * The recipe below a heading of a page of docs. Where it shows no config.yaml, one that says nothing but the port is meant.
 * @param page such as `recipes.md`
 */
export function recipeOf(page: string, heading: string): Recipe {
  const section = sectionOf(page, heading);
  const file = (name: string) =>
    new RegExp(`^\`\`\`yaml\n# ${name}\\.yaml\n([\\s\\S]*?)^\`\`\``, "m").exec(section)?.[1];
  return { config: file("config") ?? "server:\n  port: 8080\n", routes: file("routes") ?? "[]\n" };
}

/** The first block below a heading of a page of docs that is not of edge: a configuration of another gateway. */
export function exampleOf(page: string, heading: string): string {
  const text = /^```(?:nginx|text)\n([\s\S]*?)^```/m.exec(sectionOf(page, heading))?.[1];
  if (text === undefined) throw new Error(`docs/${page} has no example below "${heading}"`);
  return text;
}

function sectionOf(page: string, heading: string): string {
  const section = readFileSync(join(DOCS, page), "utf8")
    .split(/^## /m)
    .find((part) => part.startsWith(`${heading}\n`));
  if (section === undefined) throw new Error(`docs/${page} has no heading "${heading}"`);
  return section;
}

/**
 * Starts the gateway with a recipe. Nothing of it is changed but where things are: its own port, on loopback, and the addresses of
 * the applications.
 * @param places what stands in the recipe, and what is meant in this run
 */
export function startRecipe(
  page: string,
  heading: string,
  places: Readonly<Record<string, string>>,
  files: Readonly<Record<string, string | Uint8Array>> = {},
): Promise<Gateway> {
  const { config, routes } = recipeOf(page, heading);
  const port = freePort();
  const isListed = config.includes(LISTED);
  const here = isListed
    ? replaced(config, LISTED, `127.0.0.1:${port}`)
    : replaced(config, "port: 8080", `host: 127.0.0.1\n  port: ${port}`);
  const both = Object.entries(places).reduce((text, [from, to]) => replaced(text, from, to), here + CUT + routes);
  const [effective, there] = both.split(CUT);
  return startGateway({ port, files: { "config.yaml": effective!, "routes.yaml": there!, ...files } });
}

function replaced(text: string, from: string, to: string): string {
  if (!text.includes(from)) throw new Error(`the recipe has no "${from}"`);
  return text.replaceAll(from, to);
}

const LISTED = "127.0.0.1:8080";
const CUT = "\n---\n";
const DOCS = join(import.meta.dir, "../../docs");
