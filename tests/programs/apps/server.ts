// A server for Deno: /?3 answers after three seconds. HANDLER=shutdown lets requests finish.
const server = Deno.serve(
  { port: Number(Deno.env.get("PORT")), hostname: "127.0.0.1", onListen: () => {} },
  async (request) => {
    const seconds = Number(new URL(request.url).search.slice(1) || 0);
    await new Promise((done) => setTimeout(done, seconds * 1000));
    return new Response("ok");
  },
);
if (Deno.env.get("HANDLER")) Deno.addSignalListener("SIGTERM", () => server.shutdown());
