// The package has types for its main file alone; this one is the same in plain JavaScript.
declare module "recheck/lib/browser.js" {
  export { checkSync } from "recheck";
}
