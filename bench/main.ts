// Each bench is a module that measures when it is loaded: `npm run bench`, or `npm run bench -- <name>`.
const [name = "bots"] = process.argv.slice(2);
switch (name) {
  case "bots":
    await import("./bots.ts");
    console.log(
      "\n`npm run bench -- live` measures answers that are shown while they are written, `npm run bench -- media` the " +
        "reading of media and the rendering of answers, `npm run bench -- agent` what a turn of an agent costs as threads grow, `npm run bench -- dispatch` " +
        "wake-ups in process and on BullMQ, `npm run bench -- scale` one process and several.",
    );
    break;
  case "live":
    await import("./live.ts");
    break;
  case "media":
    await import("./media.ts");
    break;
  case "agent":
    await import("./agent.ts");
    break;
  case "dispatch":
    await import("./dispatch.ts");
    break;
  case "scale":
    await import("./scale.ts");
    break;
  default:
    console.error(
      `There is no bench "${name}"; there are "bots", which runs without a name, "live", "media", "agent", "dispatch" and "scale".`,
    );
    process.exitCode = 2;
}
