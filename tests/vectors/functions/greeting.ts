/** Modules import what is beside them. */
export const greeting: string = "hello";
