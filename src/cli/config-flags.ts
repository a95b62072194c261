/** The flag of every command that reads the configuration. docs/configuration.md#files */
export const CONFIG_FLAG = {
  name: "config",
  alias: "c",
  type: "string",
  default: "",
  placeholder: "FILE",
  help: "the configuration (default ./config.yaml, then /etc/edge/config.yaml)",
} as const;

/** The flags of those that read the routes as well. */
export const CONFIG_FLAGS = [
  CONFIG_FLAG,
  {
    name: "routes",
    alias: "r",
    type: "string",
    default: "",
    placeholder: "FILE",
    help: "the routes (default routes.yaml beside the configuration)",
  },
] as const;
