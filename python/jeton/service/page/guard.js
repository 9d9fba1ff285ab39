/* Guard: what a text hides, forges or disguises, marked where it stands. */
import { ask, latest, onChange, state, trouble } from "./state.js";
import { drawn, make, number, plain, walk } from "./tokens-view.js";

const MOST_DRAWN = 20000;
const LEVELS = ["info", "warning", "error", "critical"];
const SIGNS = { info: "\u25cb", warning: "\u25b3", error: "\u25b2", critical: "\u2716" };
const by = (id) => document.getElementById(id);

/* Stretches of the text between the ends of findings, each with the gravest finding over it. */
const pieces = (findings, n) => {
  const ends = new Set([0, n]);
  findings.forEach((one) => { ends.add(Math.min(one.start, n)); ends.add(Math.min(one.end, n)); });
  const places = [...ends].sort((a, b) => a - b);
  return places.slice(0, -1).map((start, i) => {
    const end = places[i + 1];
    let worst = -1;
    findings.forEach((one, index) => {
      if (one.start <= start && one.end >= end && (worst < 0 || LEVELS.indexOf(one.severity) > LEVELS.indexOf(findings[worst].severity))) worst = index;
    });
    return { start, end, finding: worst };
  });
};

const sentence = (one, index) => `finding ${number(index + 1)} \u00b7 ${one.severity} \u00b7 characters ${number(one.start)} to ${number(one.end)} \u00b7 ${plain(one.what)}`;

const marked = (points, findings) => {
  const box = make("div", "guarded flow"), parts = findings.map(() => []);
  box.tabIndex = 0;
  box.dir = "auto";
  box.setAttribute("role", "group");
  box.setAttribute("aria-label", "The text with its findings; the arrow keys move from finding to finding");
  pieces(findings, points.length).forEach(({ start, end, finding }) => {
    const part = make(finding < 0 ? "span" : "mark", finding < 0 ? "" : findings[finding].severity);
    if (finding >= 0) {
      part.dataset.i = finding;
      if (!parts[finding].length) part.append(make("sup", "", number(finding + 1)));
      parts[finding].push(part);
    }
    drawn(part, points.slice(start, end));
    box.append(part);
  });
  const shown = parts.map((elements, index) => [index, elements]).filter(([, elements]) => elements.length);
  walk(box, shown.map(([, elements]) => elements), (at) => {
    by("readout").textContent = at < 0 ? "" : sentence(findings[shown[at][0]], shown[at][0]);
  });
  return box;
};

const verdict = (answer) => {
  const total = Object.values(answer.counts).reduce((sum, n) => sum + n, 0), line = make("p", "verdict");
  const word = answer.is_clean ? "good" : answer.worst;
  line.append(make("span", `sign ${word}`, answer.is_clean ? "\u2713" : SIGNS[word]),
    answer.is_clean ? " Nothing is hidden, forged or disguised" : ` ${number(total)} finding${total > 1 ? "s" : ""}, the gravest: ${word}`,
    make("span", "drift-of", Object.entries(answer.counts).map(([kind, n]) => `${kind} ${number(n)}`).join(" \u00b7 ")));
  return line;
};

const listed = (answer) => {
  const list = make("ol", "findings");
  answer.findings.forEach((one) => {
    const item = make("li"), head = make("p", "finding-head");
    head.append(make("span", `sign ${one.severity}`, SIGNS[one.severity]), make("strong", "", ` ${one.severity}`), make("code", "", one.kind),
      make("span", "finding-place", `characters ${number(one.start)} to ${number(one.end)}`));
    item.append(head, make("p", "", plain(one.what)));
    [["Hidden text", one.payload], ["As a reader sees it", one.seen]].forEach(([label, value]) => {
      if (!value) return;
      const line = make("p", "finding-text");
      line.append(make("span", "", `${label}: `), make("bdi", "mono", plain(value)));
      item.append(line);
    });
    list.append(item);
  });
  return list;
};

const refresh = latest(async (signal) => {
  if (!state.info || state.view !== "guard") return;
  const text = state.text, tokenizer = state.chosen[0];
  const answer = await ask("v1/guard", { text, tokenizer }, { signal });
  trouble(null);
  by("readout").textContent = "";
  const points = Array.from(text), body = by("guard-body");
  body.replaceChildren(verdict(answer));
  if (points.length) body.append(marked(points.slice(0, MOST_DRAWN), answer.findings));
  if (points.length > MOST_DRAWN) body.append(make("p", "note", `Drawn are the first ${number(MOST_DRAWN)} of ${number(points.length)} characters.`));
  body.append(listed(answer));
  const rest = Object.values(answer.counts).reduce((sum, n) => sum + n, 0) - answer.findings.length;
  if (rest > 0) body.append(make("p", "note", `${number(rest)} more are not listed.`));
  document.body.dataset.drawn = `guard ${tokenizer} ${text.length}`;
}, 120);

export const start = () => onChange(() => refresh());
