import type { ConfigOf } from "../config/row.ts";
import type { configFile } from "./config-settings.ts";

/** What config.yaml says, resolved: its sections. */
export interface Sections extends ConfigOf<typeof configFile> {}

export type ServerConfig = Sections["server"];
export type ProxyConfig = Sections["proxy"];
export type TransportConfig = ProxyConfig["transport"];
