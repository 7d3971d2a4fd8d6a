import { html } from "hono/html";

/** `next` is a path of this server's own; `fault` is one sentence for the person. */
export function loginPage(next: string, fault?: string): ReturnType<typeof html> {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>Perch</title>
        <link rel="stylesheet" href="/login.css" />
      </head>
      <body>
        <form method="post" action="/login">
          <h1>Perch</h1>
          <label for="password">Password</label>
          <input
            id="password"
            name="password"
            type="password"
            autocomplete="current-password"
            required
            autofocus
          />
          <input type="hidden" name="next" value="${next}" />
          ${fault === undefined ? "" : html`<p role="alert">${fault}</p>`}
          <button type="submit">Log in</button>
        </form>
      </body>
    </html>`;
}

export const LOGIN_CSS = `
:root { color-scheme: light dark; --ground: #faf8f4; --ink: #26231e; --soft: #6f6a61; --line: #ddd7cb; --accent: #2c6e63; --fault: #a3372b; --on: #fff; }
@media (prefers-color-scheme: dark) {
  :root { --ground: #171816; --ink: #e9e6df; --soft: #a19c91; --line: #3a3b37; --accent: #7cc4b4; --fault: #f0978b; --on: #10211d; }
}
* { box-sizing: border-box; }
body { margin: 0; min-height: 100dvh; display: grid; place-items: center; background: var(--ground); color: var(--ink); font: 1rem/1.5 system-ui, sans-serif; }
form { width: min(22rem, 100vw - 3rem); display: grid; gap: .6rem; }
h1 { margin: 0 0 .8rem; font-size: 1.6rem; font-weight: 600; letter-spacing: -.01em; }
label { color: var(--soft); font-size: .9rem; }
input, button { font: inherit; padding: .65rem .8rem; border-radius: .6rem; }
input { border: 1px solid var(--line); background: transparent; color: inherit; }
button { margin-top: .4rem; border: 0; background: var(--accent); color: var(--on); font-weight: 600; cursor: pointer; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
p { margin: 0; color: var(--fault); }
`;
