import { runFunctionThread } from "../src/app/function-thread.ts";

runFunctionThread();
