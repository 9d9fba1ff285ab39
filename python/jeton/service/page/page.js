/* The page: views, the address, limits. */
import * as audit from "./audit.js";
import * as drift from "./drift.js";
import * as guard from "./guard.js";
import { ask, change, onChange, readAddress, state, trouble } from "./state.js";
import * as texts from "./text-views.js";
import * as trace from "./trace.js";
import { make, number, plain } from "./tokens-view.js";

const by = (id) => document.getElementById(id);
const FIRST_TEXT = "Hydroxychloroquine 200 mg — naïve café, नमस्ते 👩‍👩‍👧.";
const WORDS = {
  max_body_bytes: "Bytes of a request", max_tokens: "Tokens of a request", max_texts: "Texts of a request",
  max_tokenizers: "Tokenizers of a comparison", n_workers: "Threads that encode", max_waiting: "Requests that wait for a thread",
  max_held_bytes: "Bytes of all requests at once", max_connections: "Open connections",
  requests_per_minute: "Requests of one client a minute", burst: "Requests at once before the rate counts",
  header_seconds: "Seconds for a header", body_seconds: "Seconds for a body", max_header_bytes: "Bytes of a header",
  max_uploads: "Dropped tokenizers at once",
};

const showView = () => {
  document.querySelectorAll("[data-panel]").forEach((panel) => { panel.hidden = panel.dataset.panel !== state.view; });
  by("bench").hidden = !["inspect", "compare", "trace", "guard"].includes(state.view);
  document.querySelectorAll("[data-view]").forEach((link) => {
    if (link.dataset.view === state.view) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  });
};

const drawLimits = () => {
  const list = make("dl", "plain limits");
  Object.entries(state.info.limits).forEach(([name, value]) => {
    const row = make("div");
    row.append(make("dt", "", WORDS[name] ?? name), make("dd", "", value === null ? (name === "n_workers" ? "all cores" : "no limit") : number(value)));
    list.append(row);
  });
  const scroll = make("div", "scroll"), table = make("table"), head = make("thead"), row = make("tr"), rows = make("tbody");
  scroll.tabIndex = 0;
  scroll.setAttribute("role", "region");
  scroll.setAttribute("aria-label", "Tokenizers");
  table.append(make("caption", "", "Tokenizers that are served"));
  [["Name", "text"], ["Algorithm", "text"], ["Ids", ""], ["Fingerprint", "text"]].forEach(([name, kind]) => {
    const cell = make("th", kind, name);
    cell.scope = "col";
    row.append(cell);
  });
  head.append(row);
  state.info.tokenizers.forEach((one) => {
    const line = make("tr"), name = make("th", "text");
    name.scope = "row";
    name.append(make("bdi", "", plain(one.name)));
    line.append(name, make("td", "text", one.algorithm), make("td", "", number(one.vocab_size)), make("td", "text mono", one.fingerprint.slice(0, 16)));
    rows.append(line);
  });
  table.append(head, rows);
  scroll.append(table);
  const routes = make("p", "intro");
  routes.append("Routes: ", ...state.info.routes.flatMap((path, i) => [i ? ", " : "", make("code", "", path)]), ". The document of all is ");
  const link = make("a", "", "openapi.json");
  link.href = "openapi.json";
  routes.append(link, ".");
  by("limits-body").replaceChildren(list, scroll, routes);
  by("about").textContent = `Jeton ${state.info.version}. The page asks this service alone; texts are written nowhere.`;
};

const load = async () => {
  try {
    const info = await ask("v1/info");
    const names = info.tokenizers.map((one) => one.name);
    const asked = readAddress();
    const wanted = (asked.chosen ?? state.chosen).filter((name) => names.includes(name));
    trouble(null);
    change({ info, text: state.text || FIRST_TEXT, ...asked, chosen: wanted.length ? wanted : names.slice(0, 3) });
    by("key-form").hidden = true;
  } catch (error) { trouble(error); }
};

onChange((fields) => { if ("view" in fields) showView(); if ("info" in fields) drawLimits(); });
texts.start();
guard.start();
audit.start();
drift.start();
trace.start();
by("key-form").addEventListener("submit", (event) => { event.preventDefault(); change({ key: by("key").value }); load(); });
document.querySelectorAll("[data-view]").forEach((link) => link.addEventListener("click", (event) => {
  event.preventDefault();
  change({ view: link.dataset.view });
}));
window.addEventListener("hashchange", () => { const asked = readAddress(); if (Object.keys(asked).length) change(asked); });
Object.assign(state, readAddress());
showView();
load();
