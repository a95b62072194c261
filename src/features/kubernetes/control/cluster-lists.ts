import type { UnservedObject } from "../../../core/unserved-object.ts";
import type { SourceLists } from "../../../loading/repeated-load.ts";
import type { RouteFile } from "../../../loading/route-folder.ts";
import type { SourceListener } from "../../../loading/source-listeners.ts";

/** The lists and listeners that the objects of a cluster give, for the next reading of the configuration. */
export class ClusterLists implements SourceLists {
  files: readonly RouteFile[] = [];
  listeners: readonly SourceListener[] = [];
  /** Finds the objects that edge does not serve: there may be thousands of statuses, and few ask. */
  findUnserved: () => readonly UnservedObject[] = () => [];

  /** Objects that edge does not serve. */
  get unserved(): readonly UnservedObject[] {
    return this.findUnserved();
  }
}
