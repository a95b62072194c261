/**
 * Why a process that hands over changes nothing: what it took up now, its successor would not know. A caller that reads this with
 * status 503 may ask again: the successor takes the change. docs/operations.md#replacing-the-binary
 */
export const HANDING_OVER = "a new process takes over, and takes changes in a moment: try again";
