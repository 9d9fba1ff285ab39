/* The state of the page, which the address keeps, and the way to the service. */
const MAX_TEXT_IN_ADDRESS = 4000;
const VIEWS = ["inspect", "compare", "trace", "guard", "audit", "drift", "limits"];
const MODES = ["flow", "bytes", "table"];
export const MOST_COMPARED = 6;

export const state = { view: "inspect", mode: "flow", text: "", chosen: [], info: null, key: "" };
const listeners = new Set();

export const onChange = (listener) => listeners.add(listener);

/* Change the state, tell everybody, and write the address. */
export const change = (fields) => {
  Object.assign(state, fields);
  writeAddress();
  listeners.forEach((listener) => listener(fields));
};

const writeAddress = () => {
  const query = new URLSearchParams();
  if (state.chosen.length) query.set("t", state.chosen.join(","));
  if (state.mode !== "flow") query.set("mode", state.mode);
  if (state.text && state.text.length <= MAX_TEXT_IN_ADDRESS) query.set("text", state.text);
  const rest = query.toString();
  history.replaceState(null, "", `#${state.view}${rest ? `?${rest}` : ""}`);
};

export const isTextInAddress = () => state.text.length <= MAX_TEXT_IN_ADDRESS;

/* Read the address; what it does not say stays. */
export const readAddress = () => {
  const [view, rest] = location.hash.slice(1).split(/\?(.*)/s);
  const query = new URLSearchParams(rest ?? "");
  const found = {};
  if (VIEWS.includes(view)) found.view = view;
  if (MODES.includes(query.get("mode"))) found.mode = query.get("mode");
  if (query.has("text")) found.text = query.get("text").slice(0, MAX_TEXT_IN_ADDRESS);
  if (query.has("t")) found.chosen = query.get("t").split(",").slice(0, MOST_COMPARED);
  return found;
};

/* Ask the service. A failure is thrown with the service's own words. */
export const ask = async (path, body, options = {}) => {
  const headers = { Accept: "application/json" };
  if (state.key) headers.Authorization = `Bearer ${state.key}`;
  let data = body;
  if (body !== undefined && !(body instanceof Blob)) {
    headers["Content-Type"] = "application/json";
    data = JSON.stringify(body);
  }
  let answer;
  try {
    answer = await fetch(path, { method: body === undefined ? "GET" : "POST", headers, body: data, ...options });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("the service does not answer");
  }
  let value;
  try { value = await answer.json(); } catch { value = {}; }
  if (!answer.ok) {
    const failure = new Error(value.error?.message ?? `the service answered ${answer.status}`);
    failure.status = answer.status;
    failure.hint = value.error?.hint ?? "";
    throw failure;
  }
  return value;
};

/* A function that asks once typing pauses, and drops answers that are late. */
export const latest = (work, pause) => {
  let timer = 0, running = null;
  return (...given) => {
    clearTimeout(timer);
    running?.abort();
    const mine = (running = new AbortController());
    return new Promise((done) => {
      timer = setTimeout(async () => {
        try { await work(mine.signal, ...given); } catch (error) { if (error.name !== "AbortError") trouble(error); }
        done();
      }, pause);
    });
  };
};

/* Say what went wrong, and ask for a key where one is missing. */
export const trouble = (error) => {
  const box = document.getElementById("trouble");
  box.hidden = !error;
  if (!error) { box.textContent = ""; return; }
  box.textContent = error.hint ? `${error.message}. ${error.hint}` : error.message;
  if (error.status === 401) document.getElementById("key-form").hidden = false;
};
