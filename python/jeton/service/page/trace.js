/* Steps of a text: how it is cut, or how a vocabulary is learned from it, with a slider. */
import { ask, latest, onChange, state, trouble } from "./state.js";
import { make } from "./tokens-view.js";

const ALGORITHMS = ["bpe", "trimmed-bpe", "superbpe", "char-bpe", "wordpiece", "wordpiece-likelihood", "unigram", "min-token-unigram", "sentencepiece-bpe"];

export const start = () => {
  const panel = document.getElementById("trace"), choice = make("select"), frame = make("iframe");
  choice.id = "trace-of";
  choice.append(new Option("Encoding, by the tokenizer chosen", ""), ...ALGORITHMS.map((name) => new Option(`Training on the text: ${name}`, name)));
  const label = make("label", "label", "Show");
  label.htmlFor = choice.id;
  frame.title = "Steps, with a slider";
  frame.setAttribute("sandbox", "allow-scripts");
  panel.append(label, " ", choice, frame);

  const draw = latest(async (signal) => {
    const body = { text: state.text, tokenizer: state.chosen[0], page: true };
    if (choice.value) body.algorithm = choice.value;
    const found = await ask("v1/trace", body, { signal });
    trouble(null);
    frame.srcdoc = found.html;
  }, 300);
  choice.addEventListener("change", draw);
  onChange((fields) => {
    if (state.view === "trace" && state.info && state.text && ["view", "text", "chosen", "info"].some((name) => name in fields)) draw();
  });
};
