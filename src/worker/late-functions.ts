import type { Takers } from "../core/message-takers.ts";
import type { WorkerService } from "../core/worker-service.ts";
import type { FunctionNewsMessage } from "../features/functions/function-messages.ts";
import { askForTimeSlice, WORKER_SLICE_US } from "../net/thread-turns.ts";
import type { FunctionSitePorts, WorkerFunctionPorts } from "./function-site.ts";

/** The functions of a data worker, which are loaded once a configuration has some. */
export class LateFunctions implements WorkerService<unknown> {
  readonly onMessage: Takers<FunctionNewsMessage> = { functions: ({ news }) => this.loaded().receive(news) };
  private readonly ports: FunctionSitePorts;
  private functions: WorkerFunctionPorts | null = null;

  constructor(ports: FunctionSitePorts) {
    this.ports = ports;
  }

  loaded(): WorkerFunctionPorts {
    if (this.functions === null) {
      const { WorkerFunctionPorts } = require("./function-site.ts") as typeof import("./function-site.ts");
      askForTimeSlice(WORKER_SLICE_US);
      this.functions = new WorkerFunctionPorts(this.ports);
    }
    return this.functions;
  }
}
