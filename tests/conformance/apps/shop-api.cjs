// A small API on express: shop-api.cjs FOLDER_OF_PACKAGES PORT
const { createRequire } = require("node:module");
const express = createRequire(`${process.argv[2]}/package.json`)("express");

const orders = [{ id: 17, item: "a lamp", price: 40 }];
const api = express();
api.use(express.json());
api.set("trust proxy", "loopback");
api.get("/api/orders", (_request, response) => response.json(orders));
api.post("/api/orders", (request, response) => {
  const order = { id: 18 + orders.length, ...request.body };
  orders.push(order);
  response.status(201).location(`/api/orders/${order.id}`).json(order);
});
api.get("/api/who", (request, response) =>
  response.json({ ip: request.ip, host: request.hostname, url: request.originalUrl }),
);
api.get("/api/session", (_request, response) => {
  response.cookie("sid", "s-1", { httpOnly: true, sameSite: "lax" }).redirect("/orders/17");
});
api.listen(Number(process.argv[3]), "127.0.0.1");
