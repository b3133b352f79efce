// A server without a handler for signals: /?3 answers after three seconds.
require("http")
  .createServer((request, response) => {
    const seconds = Number(request.url.split("?")[1] || 0);
    setTimeout(() => response.end("ok"), seconds * 1000);
  })
  .listen(Number(process.env.PORT), "127.0.0.1");
