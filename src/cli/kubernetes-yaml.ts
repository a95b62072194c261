import { stringify } from "yaml";

/** An object as YAML for kubectl, which reads YAML 1.1: there a bare `off` is false, so that it gets quotes. */
export function kubernetesYaml(object: object): string {
  return stringify(object, { version: "1.1", lineWidth: 0, aliasDuplicateObjects: false });
}
