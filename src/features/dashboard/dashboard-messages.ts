/** From the control thread to a worker. */
export type DashboardNews =
  /** The dashboard is watched, or no longer: say once a second what was `seen`. */
  | { readonly kind: "observe"; readonly isWatched: boolean }
  /** An event for the watchers of this worker. */
  | { readonly kind: "live"; readonly text: string };

/** From a worker. */
export type DashboardWord =
  /** So many clients watch the dashboard by this worker. */
  | { readonly kind: "watchers"; readonly count: number }
  /** `seen` is a SeenTraffic as JSON: many small objects are dearer to clone. */
  | { readonly kind: "seen"; readonly seen: string }
  /** The worker has logged that an operator has done something. */
  | { readonly kind: "audited"; readonly fields: Readonly<Record<string, unknown>> };
