/* Inspect and compare: one text under one tokenizer, or under up to six. */
import { MOST_COMPARED, ask, change, isTextInAddress, latest, onChange, state, trouble } from "./state.js";
import { N_LOOKS, bytes, describe, flow, make, marks, number, plain, sizes, table, tokensOf } from "./tokens-view.js";
import { SAMPLES } from "./samples.js";

const by = (id) => document.getElementById(id);
const readout = by("readout"), text = by("text");
const answers = new Map();
let shown = null;

const encode = async (signal, name, value) => {
  const key = `${name}\u0000${value}`;
  if (!answers.has(key)) {
    const answer = await ask("v1/encode", { text: value, tokenizer: name, offsets: true, pieces: true }, { signal });
    if (answers.size > 40) answers.delete(answers.keys().next().value);
    answers.set(key, answer);
  }
  return answers.get(key);
};

const say = (tokens, name) => (index) => {
  readout.textContent = index < 0 ? "" : `${name ? `${name} \u00b7 ` : ""}${describe(tokens, index)}`;
};

/* Figures of the inspected text. */
const figure = (list, label, value, note) => {
  const box = make("div"), name = make("dt", "", label), data = make("dd", "", value);
  if (note) data.append(make("span", "per", note));
  box.append(name, data);
  list.append(box);
};

const drawFigures = (answer, value) => {
  const list = by("figures"), known = sizes(value);
  list.replaceChildren();
  figure(list, "Tokens", number(answer.count));
  figure(list, "Bytes per token", answer.count ? (known.bytes / answer.count).toFixed(2) : "\u2013");
  figure(list, "Bytes", number(known.bytes));
  if (known.graphemes !== null) figure(list, "Characters as read", number(known.graphemes));
  figure(list, "Hidden characters", number(known.hidden));
};

const LEGENDS = {
  flow: "A dot is a space, \u21b5 a line end. A part with ticks below is one character that several tokens share.",
  bytes: "From above: characters as a reader takes them, bytes, tokens by id. A dashed edge goes on in the next line.",
  table: "Places count bytes of UTF-8 from 0.",
};

const drawInspect = (answer, value) => {
  const tokens = tokensOf(answer), name = answer.tokenizer, label = `The text cut by ${plain(name)}`;
  shown = answer;
  drawFigures(answer, value);
  const stage = by("stage");
  stage.className = `stage k${look(name)}`;
  const options = { label, say: say(tokens) };
  const draw = { flow: () => flow(value, tokens, options), bytes: () => bytes(value, tokens, options), table: () => table(value, tokens) };
  by("legend").textContent = LEGENDS[state.mode];
  stage.replaceChildren(draw[state.mode]());
  if (tokens.length < answer.count) stage.append(make("p", "note", `Drawn are the first ${number(tokens.length)} of ${number(answer.count)} tokens.`));
};

const look = (name) => Math.max(0, (state.info?.tokenizers ?? []).findIndex((one) => one.name === name)) % N_LOOKS;

const nameTag = (name) => {
  const tag = make("span", `name k${look(name)}`), mark = make("span", "mark", marks[look(name)]);
  mark.setAttribute("aria-hidden", "true");
  tag.append(mark, " ", make("bdi", "", plain(name)));
  return tag;
};

const drawCompare = (found, value) => {
  const most = Math.max(1, ...found.map((answer) => answer.count)), known = sizes(value);
  const first = new Set(tokensOf(found[0]).map((token) => `${token.first} ${token.last}`));
  by("rows").replaceChildren(...found.map((answer, place) => {
    const row = make("article", `versus k${look(answer.tokenizer)}`), head = make("header", "versus-head");
    const tokens = tokensOf(answer);
    head.append(nameTag(answer.tokenizer));
    const change = place && found[0].count ? answer.count / found[0].count - 1 : null;
    const words = change === null ? "" : change === 0 ? " \u00b7 the same" : ` \u00b7 ${change > 0 ? "+" : "\u2212"}${Math.abs(change * 100).toFixed(1)}%`;
    head.append(make("strong", "versus-count", number(answer.count)), make("span", "versus-words",
      `tokens${words} \u00b7 ${answer.count ? (known.bytes / answer.count).toFixed(2) : "\u2013"} bytes per token`));
    const track = make("div", "track"), bar = make("span", "bar");
    bar.style.width = `${(answer.count / most) * 100}%`;
    track.append(bar);
    track.setAttribute("aria-hidden", "true");
    row.append(head, track, flow(value, tokens, {
      label: `The text cut by ${plain(answer.tokenizer)}`, say: say(tokens, answer.tokenizer),
      isOdd: (index) => place > 0 && !first.has(`${tokens[index].first} ${tokens[index].last}`),
    }));
    return row;
  }));
};

const refresh = latest(async (signal) => {
  if (!state.info || !["inspect", "compare"].includes(state.view)) return;
  const names = state.view === "inspect" ? state.chosen.slice(0, 1) : state.chosen.slice(0, MOST_COMPARED);
  const value = state.text;
  const found = await Promise.all(names.map((name) => encode(signal, name, value)));
  trouble(null);
  readout.textContent = "";
  if (!found.length) return;
  if (state.view === "inspect") drawInspect(found[0], value);
  else drawCompare(found, value);
  document.body.dataset.drawn = `${state.view} ${names.join(",")} ${state.mode} ${value.length}`;
}, 120);

/* Tokenizers: one of them to inspect, up to six to compare. */
export const choices = (box, isMany, onPick) => {
  box.replaceChildren(...(state.info?.tokenizers ?? []).map((one, index) => {
    const label = make("label", "chip"), input = make("input");
    input.type = isMany ? "checkbox" : "radio";
    input.name = `${box.id}-choice`;
    input.value = one.name;
    input.checked = isMany ? state.chosen.includes(one.name) : state.chosen[0] === one.name;
    input.addEventListener("change", () => onPick(one.name, input.checked));
    label.append(input, nameTag(one.name), make("span", "chip-note", number(one.vocab_size)));
    label.title = `${one.algorithm}, ${number(one.vocab_size)} ids, fingerprint ${one.fingerprint.slice(0, 12)}`;
    label.dataset.index = index;
    return label;
  }));
};

const pick = (name, isOn) => {
  if (state.view !== "compare") { change({ chosen: [name, ...state.chosen.filter((one) => one !== name)] }); return; }
  const kept = state.chosen.filter((one) => one !== name);
  if (isOn && kept.length >= MOST_COMPARED) { by("drop-note").textContent = `At most ${MOST_COMPARED} are compared at once.`; drawChoices(); return; }
  if (isOn) kept.push(name);
  if (!kept.length) { drawChoices(); return; }
  change({ chosen: kept });
};

const drawChoices = () => {
  const isMany = state.view === "compare";
  by("served-legend").textContent = isMany ? `Tokenizers, up to ${MOST_COMPARED}` : "Tokenizer";
  choices(by("served"), isMany, pick);
};

const upload = async (file) => {
  by("drop-note").textContent = `Loading ${plain(file.name)}`;
  try {
    const one = await ask("v1/tokenizers", file);
    const others = state.info.tokenizers.filter((known) => known.name !== one.name);
    change({ info: { ...state.info, tokenizers: [...others, one] }, chosen: [one.name, ...state.chosen].slice(0, MOST_COMPARED) });
    by("drop-note").textContent = `${plain(file.name)} is ${one.name}: ${one.algorithm}, ${number(one.vocab_size)} ids. It stays for a while, in memory alone.`;
    trouble(null);
  } catch (error) {
    by("drop-note").textContent = "";
    trouble(error);
  }
};

/* A place to drop a file on, with a button for those who do not drag. */
export const dropZone = (box, input, take) => {
  ["dragenter", "dragover"].forEach((kind) => box.addEventListener(kind, (event) => { event.preventDefault(); box.classList.add("over"); }));
  ["dragleave", "drop"].forEach((kind) => box.addEventListener(kind, () => box.classList.remove("over")));
  box.addEventListener("drop", (event) => { event.preventDefault(); if (event.dataTransfer.files[0]) take(event.dataTransfer.files[0]); });
  input.addEventListener("change", () => { if (input.files[0]) take(input.files[0]); input.value = ""; });
};

const copy = async (value, button) => {
  const words = button.textContent;
  try { await navigator.clipboard.writeText(value); button.textContent = "Copied"; }
  catch { button.textContent = "Not allowed here"; }
  setTimeout(() => { button.textContent = words; }, 1500);
};

export const start = () => {
  by("samples").append(...SAMPLES.map(([name, language, value]) => {
    const button = make("button", "chip", name);
    button.type = "button";
    if (language) button.lang = language;
    button.addEventListener("click", () => { text.value = value; change({ text: value }); });
    return button;
  }));
  text.addEventListener("input", () => change({ text: text.value }));
  document.querySelectorAll("[data-mode]").forEach((button) => button.addEventListener("click", () => change({ mode: button.dataset.mode })));
  by("copy").addEventListener("click", (event) => { if (shown) copy(`[${shown.ids.join(", ")}]`, event.currentTarget); });
  by("copy-link").addEventListener("click", (event) => copy(location.href, event.currentTarget));
  dropZone(by("drop"), by("file"), upload);
  let width = window.innerWidth;
  window.addEventListener("resize", () => { if (state.mode === "bytes" && width !== window.innerWidth) { width = window.innerWidth; refresh(); } });
  onChange((fields) => {
    if ("text" in fields && text.value !== state.text) text.value = state.text;
    if ("text" in fields) by("kept").textContent = isTextInAddress() ? "" : "Too long for the address: a link has the choice of tokenizers alone.";
    if ("info" in fields || "chosen" in fields || "view" in fields) drawChoices();
    document.querySelectorAll("[data-mode]").forEach((button) => button.setAttribute("aria-pressed", String(button.dataset.mode === state.mode)));
    refresh();
  });
};
