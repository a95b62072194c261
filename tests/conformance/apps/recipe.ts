import { readFileSync } from "node:fs";
import { join } from "node:path";
import { freePort, type Gateway, startGateway } from "../../harness/gateway.ts";

/** Both files of one recipe, as docs/recipes.md shows them. */
export interface Recipe {
  readonly config: string;
  readonly routes: string;
}

/** The recipe below a heading of docs/recipes.md. */
export function recipeOf(heading: string): Recipe {
  const section = PAGE.split(/^## /m).find((part) => part.startsWith(`${heading}\n`));
  if (section === undefined) throw new Error(`docs/recipes.md has no heading "${heading}"`);
  const file = (name: string) => {
    const text = new RegExp(`^\`\`\`yaml\n# ${name}\\.yaml\n([\\s\\S]*?)^\`\`\``, "m").exec(section)?.[1];
    if (text === undefined) throw new Error(`the recipe "${heading}" has no ${name}.yaml`);
    return text;
  };
  return { config: file("config"), routes: file("routes") };
}

/**
 * Starts the gateway with a recipe. Nothing of it is changed but where things are: its own port, on loopback, and the addresses of
 * the applications.
 * @param places what stands in the recipe, and what is meant in this run
 */
export function startRecipe(
  heading: string,
  places: Readonly<Record<string, string>>,
  files: Readonly<Record<string, string>> = {},
): Promise<Gateway> {
  const { config, routes } = recipeOf(heading);
  const port = freePort();
  const here = replaced(config, "port: 8080", `host: 127.0.0.1\n  port: ${port}`);
  const there = Object.entries(places).reduce((text, [from, to]) => replaced(text, from, to), routes);
  return startGateway({ port, files: { "config.yaml": here, "routes.yaml": there, ...files } });
}

function replaced(text: string, from: string, to: string): string {
  if (!text.includes(from)) throw new Error(`the recipe has no "${from}"`);
  return text.replaceAll(from, to);
}

const PAGE = readFileSync(join(import.meta.dir, "../../../docs/recipes.md"), "utf8");
