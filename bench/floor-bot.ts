import { MemorySaver } from "@langchain/langgraph";
import { ChatOpenAI } from "@langchain/openai";
import { Bot } from "grammy";
import { createAgent } from "langchain";

// The floor: the bot that one would write without Perch. It forgets everything when it ends, loses what it was doing,
// handles one message at a time (grammY's own polling) and knows text alone.
const { TOKEN = "", API_ROOT = "", MODEL_URL = "", KEY = "", PROMPT = "" } = process.env;

const agent = createAgent({
  model: new ChatOpenAI({ model: "test", apiKey: KEY, configuration: { baseURL: MODEL_URL } }),
  systemPrompt: PROMPT,
  checkpointer: new MemorySaver(),
});

const bot = new Bot(TOKEN, { client: { apiRoot: API_ROOT } });
bot.on("message:text", async (ctx) => {
  const { messages } = await agent.invoke(
    { messages: [{ role: "user", content: ctx.message.text }] },
    { configurable: { thread_id: String(ctx.chat.id) } },
  );
  await ctx.reply(messages.at(-1)?.text ?? "");
});
await bot.start();
