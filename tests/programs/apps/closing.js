// The same, with a handler that stops accepting and lets requests finish.
const server = require("http").createServer((request, response) => {
  const seconds = Number(request.url.split("?")[1] || 0);
  setTimeout(() => response.end("ok"), seconds * 1000);
});
server.listen(Number(process.env.PORT), "127.0.0.1");
process.on(process.env.STOP || "SIGTERM", () => server.close());
