import { describe, expect, it } from "vitest";
import { render } from "../../../channels/web/render.ts";
import { parseMarkdown } from "../../../src/reply/tree.ts";

const html = (markdown: string) => render(parseMarkdown(markdown)).text;
const link = (href: string, label: string) =>
  `<a href="${href}" target="_blank" rel="noopener noreferrer nofollow">${label}</a>`;

describe("the web chat's HTML", () => {
  it.each([
    ["**a** *b* ~~c~~ `d`", "<p><strong>a</strong> <em>b</em> <del>c</del> <code>d</code></p>"],
    ["## a\nb", "<h2>a</h2>\n<p>b</p>"],
    ["a\nb", "<p>a<br>b</p>"],
    ["- a\n- b", "<ul><li>a</li><li>b</li></ul>"],
    ["- a\n  - b", "<ul><li>a<ul><li>b</li></ul></li></ul>"],
    ["3. a\n\n4. b", '<ol start="3"><li><p>a</p></li><li><p>b</p></li></ol>'],
    [
      "- [x] a\n- [ ] b",
      '<ul><li class="task"><label><input type="checkbox" disabled checked> a</label></li>' +
        '<li class="task"><label><input type="checkbox" disabled> b</label></li></ul>',
    ],
    ["```ts\na < b\n```", '<pre><code class="language-ts">a &lt; b</code></pre>'],
    ['```"><img/src=x>\na\n```', '<pre><code class="language-imgsrcx">a</code></pre>'],
    ["$$\na<b\n$$", '<pre><code class="language-latex">a&lt;b</code></pre>'],
    ["> a", "<blockquote><p>a</p></blockquote>"],
    ["---", "<hr>"],
    [
      "| a | b |\n|---|--:|\n| 1 | `2` |",
      '<div class="table-scroll"><table><thead><tr><th>a</th><th class="align-right">b</th></tr></thead>' +
        '<tbody><tr><td>1</td><td class="align-right"><code>2</code></td></tr></tbody></table></div>',
    ],
    ["a < b && **c**", "<p>a &lt; b &amp;&amp; <strong>c</strong></p>"],
    ["[a](https://b.de/?x=1&y=2)", `<p>${link("https://b.de/?x=1&amp;y=2", "a")}</p>`],
    ["[a](mailto:b@c.de)", `<p>${link("mailto:b@c.de", "a")}</p>`],
    ["![a](https://b.de/i.png)", `<p>${link("https://b.de/i.png", "a")}</p>`],
    ["[![a](https://b.de/i.png)](https://b.de/)", `<p>${link("https://b.de/", "a")}</p>`],
    ["![a](data:image/png;base64,AAAA)", "<p>a</p>"],
    ["[a](b.md)", "<p>a (b.md)</p>"],
  ])("renders %j", (markdown, expected) => {
    expect(html(markdown)).toBe(expected);
  });

  it.each([
    "<script>alert(1)</script>",
    "a <img src=x onerror=alert(1)> b",
    "[a](javascript:alert(1)) [b](JaVaScRiPt:alert(1)) [c](&#106;avascript:alert(1)) [d](java\tscript:alert(1))",
    "[a](data:text/html;base64,PHNjcmlwdD4=) <javascript:alert(1)>",
    '[a](https://b.de/"onmouseover="alert(1))',
    "[a](<https://b.de/' onclick='alert(1)>)",
    '![" onerror="alert(1)](https://b.de/x.png)',
    "&lt;script&gt;alert(1)&lt;/script&gt; &#60;svg onload=alert(1)&#62;",
    "`<svg onload=alert(1)>`\n\n```\n</code></pre><script>x</script>\n```",
    "| <script>x</script> |\n|---|\n| <img src=x> |",
    "$<svg/onload=alert(1)>$",
    "[^<b>]: <script>x</script>\n\na[^<b>]",
    "\u0000<\u0000script>",
  ])("lets nothing of %j through but text", (markdown) => {
    const out = html(markdown);
    const allowed =
      /<\/?(?:p|code|pre|table|thead|tbody|tr|th|td)>|<\/?div(?: class="table-scroll")?>|<a href="(?:https?|mailto):[^"<>']*" target="_blank" rel="noopener noreferrer nofollow">|<\/a>/g;
    expect(out.replaceAll(allowed, "")).not.toMatch(/[<>"']/);
  });
});
