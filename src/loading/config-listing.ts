import { stringify } from "yaml";
import { writeMap } from "../features/maps/settings.ts";
import { listRoute, listStream } from "../routes/route-listing.ts";
import type { RuntimeConfig } from "../routes/runtime-config.ts";
import { configFile } from "../settings/config-settings.ts";

/**
 * Writes the effective configuration as YAML, every default filled in: what `config.yaml` and `routes.yaml` would have
 * to say, one document each. Secrets are shown as `***`; without any, the text reads back as the same configuration.
 */
export function listConfig(config: RuntimeConfig): string {
  const streams = config.streams.map(listStream);
  const maps =
    config.maps.length === 0 ? {} : { maps: Object.fromEntries(config.maps.map((one) => [one.name, writeMap(one)])) };
  const routes = { ...maps, routes: [...config.routes.map(listRoute), ...streams] };
  return `# config.yaml\n${stringify(configFile.write(config), STYLE)}---\n# routes.yaml\n${stringify(routes, STYLE)}`;
}

const STYLE = { lineWidth: 0, aliasDuplicateObjects: false } as const;
