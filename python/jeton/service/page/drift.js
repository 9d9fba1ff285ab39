/* Live drift: the state of the monitor, asked for again and again while somebody looks. */
import { ask, onChange, state, trouble } from "./state.js";
import { make, number, plain } from "./tokens-view.js";

const EVERY_MS = 3000;
const by = (id) => document.getElementById(id);
let timer = 0, isPaused = false;

const SVG = "http://www.w3.org/2000/svg";
const drawn = (name, attributes) => {
  const element = document.createElementNS(SVG, name);
  Object.entries(attributes).forEach(([key, value]) => element.setAttribute(key, value));
  return element;
};

const short = (x) => (x >= 100 ? number(Math.round(x)) : x >= 10 ? x.toFixed(1) : x.toFixed(3));

const value = (one, field) => {
  const x = one[field];
  if (x === null || x === undefined) return "\u2013";
  if (one.is_share) return `${(x * 100).toFixed(2)}%`;
  return short(x);
};

/* A line of windows, with its last value in words beside it. */
const sparkline = (windows, field, label) => {
  const values = windows.map((one) => one[field]).filter((x) => x !== null);
  const box = make("figure", "spark"), words = make("figcaption");
  const last = values.at(-1);
  words.append(make("strong", "", last === undefined ? "\u2013" : short(last)), ` ${label}, this window`);
  box.append(words);
  if (values.length > 1) {
    const [width, height] = [320, 56], top = Math.max(...values) * 1.05 || 1, low = Math.min(...values) * 0.95;
    const y = (x) => height - ((x - low) / (top - low || 1)) * height;
    const points = values.map((x, i) => `${(i / (values.length - 1)) * width},${y(x).toFixed(1)}`).join(" ");
    const chart = drawn("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${label} by window, from ${values[0].toFixed(3)} to ${last.toFixed(3)}`, preserveAspectRatio: "none" });
    chart.append(drawn("polyline", { points, fill: "none", stroke: "currentColor", "stroke-width": 2, "vector-effect": "non-scaling-stroke" }));
    box.append(chart);
  }
  return box;
};

const causes = (alert) => {
  const list = make("ol", "causes");
  alert.causes.filter((cause) => Math.abs(cause.share) >= 0.1).forEach((cause) => {
    const item = make("li"), track = make("span", "track"), bar = make("span", "bar");
    bar.style.width = `${Math.min(100, Math.max(0, cause.share) * 100)}%`;
    track.setAttribute("aria-hidden", "true");
    track.append(bar);
    const detail = cause.detail !== cause.label ? ` (${cause.detail})` : "";
    item.append(make("span", "cause-name", `${cause.label}${detail}`), track, make("span", "cause-share", `${Math.round(cause.share * 100)}%`));
    if (cause.usd_per_day !== null) item.append(make("span", "cause-usd", `${cause.usd_per_day >= 0 ? "+" : "\u2212"}$${Math.abs(cause.usd_per_day).toFixed(2)} a day`));
    item.append(make("span", "cause-remedy", cause.remedy));
    list.append(item);
  });
  return list;
};

const draw = (found) => {
  const body = by("drift-body");
  const status = make("p", "drift-status");
  const raised = found.alerts.length;
  status.append(make("span", raised ? "sign error" : "sign good", raised ? "\u25b2" : "\u2713"), ` ${raised ? `${number(raised)} alert${raised > 1 ? "s" : ""}` : "Nothing moved"}`,
    make("span", "drift-of", `${number(found.n_requests)} texts \u00b7 canary ${found.canary === "same" ? "unchanged" : found.canary} \u00b7 chance of a false alarm at most ${(found.alpha * 100).toFixed(1)}%`));
  const charts = make("div", "sparks");
  charts.append(sparkline(found.windows, "tokens_per_request", "tokens a text"), sparkline(found.windows, "tokens_per_byte", "tokens a byte"));
  const list = make("ol", "alerts");
  found.alerts.slice(-5).reverse().forEach((alert) => {
    const item = make("li", "alert");
    item.append(make("p", "alert-line", plain(alert.line)), causes(alert));
    if (alert.memory_words) item.append(make("p", "alert-memory", alert.memory_words));
    list.append(item);
  });
  const scroll = make("div", "scroll"), table = make("table"), head = make("tr"), rows = make("tbody");
  scroll.tabIndex = 0;
  scroll.setAttribute("role", "region");
  scroll.setAttribute("aria-label", "Signals");
  table.append(make("caption", "", "Signals. Evidence is that of a change; an alarm is raised at 100%."));
  [["Signal", "text"], ["Route", "text"], ["Normal", ""], ["Of late", ""], ["Evidence", ""], ["State", "text"]].forEach(([name, kind]) => {
    const cell = make("th", kind, name);
    cell.scope = "col";
    head.append(cell);
  });
  const top = make("thead");
  top.append(head);
  const order = (one) => (one.is_raised ? 0 : one.limit ? 1 : 2);
  [...found.states].sort((a, b) => order(a) - order(b)).forEach((one) => {
    const row = make("tr"), name = make("th", "text", one.label), evidence = make("td");
    name.scope = "row";
    const grown = one.limit ? Math.max(0, Math.log(Math.max(one.evidence, 1)) / Math.log(one.limit)) : 0;
    const share = one.is_raised ? 1 : Math.min(0.99, grown);
    const meter = make("span", "meter"), bar = make("span");
    bar.style.width = `${share * 100}%`;
    meter.setAttribute("aria-hidden", "true");
    meter.append(bar);
    evidence.append(meter, make("span", "", one.limit ? `${Math.round(share * 100)}%` : ""));
    const words = one.is_raised ? "\u25b2 alarm" : one.limit ? "\u2713 same" : "\u2026 learning";
    row.append(name, make("td", "text", plain(one.route) || "all"), make("td", "", value(one, "before")), make("td", "", value(one, "now")), evidence, make("td", one.is_raised ? "text raised" : "text", words));
    rows.append(row);
  });
  table.append(top, rows);
  scroll.append(table);
  body.replaceChildren(status, charts, list, scroll);
};

const none = () => {
  const body = by("drift-body"), words = make("p", "intro");
  words.append("This service does not watch. Start it with ", make("code", "", "jeton serve --watch -"), ", or with a history: ", make("code", "", "--watch good.watch"), ". ",
    "The texts of late are then held in memory, to find the cause of a change.");
  body.replaceChildren(words);
};

const look = async () => {
  clearTimeout(timer);
  if (state.view !== "drift" || !state.info) return;
  if (!isPaused && !document.hidden) {
    try { draw(await ask("v1/drift")); trouble(null); }
    catch (error) { if (error.status === 404) { none(); return; } trouble(error); }
  }
  timer = setTimeout(look, EVERY_MS);
};

export const start = () => {
  by("pause").addEventListener("click", (event) => {
    isPaused = !isPaused;
    event.currentTarget.setAttribute("aria-pressed", String(isPaused));
    event.currentTarget.textContent = isPaused ? "Go on" : "Pause";
  });
  onChange((fields) => { if ("view" in fields || "info" in fields) look(); });
};
