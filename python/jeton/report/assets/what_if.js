"use strict";
/* The sliders: the bill and the memory computed anew from the report's own numbers. Every result has
   its formula with the numbers put in; at the start they are the report's. */
(() => {
  const report = JSON.parse(document.getElementById("audit-data").textContent);
  const given = report.what_if;
  const panel = document.querySelector(".what-if");
  if (!given || !panel) return;
  const all = (selector, root = panel) => Array.from(root.querySelectorAll(selector));
  const number = (value) => (value === null || value === undefined ? null : Number(value));

  /* Where nothing was given, a round number to begin with; the control says so. */
  const START_REQUESTS = 1e6;
  const START_PRICE = 1;
  const MONTHS = 12;
  const SECONDS_PER_HOUR = 3600;
  const HOURS_PER_MONTH = 730; /* 365 x 24 / 12 */
  const MILLION = 1e6;
  const DECADES = 2; /* the sliders of requests and price go from 1/100 to 100 times the start */

  const MINUS = "\u2212";
  const grouped = (value, digits) =>
    value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  const significant = (value, digits) => {
    if (!value) return "0";
    return grouped(value, Math.max(0, digits - 1 - Math.floor(Math.log10(Math.abs(value)))));
  };
  const count = (value) =>
    Number.isInteger(value) || value >= 10000 ? grouped(value, 0) : value >= 1 ? grouped(value, 1) : significant(value, 2);
  const usd = (value) =>
    "$" + (!value || value >= 1000 ? grouped(value, 0)
      : value >= 1 || Number.isInteger(value * 100) ? grouped(value, 2) : significant(value, 3));
  const percent = (value) => {
    const hundred = Math.round(value * 1e10) / 1e8;
    if (hundred > 99.9 && hundred < 100) return "99.9%";
    return Number.isInteger(hundred) ? `${grouped(hundred, 0)}%`
      : Math.abs(hundred) >= 1 ? `${grouped(hundred, 1)}%` : `${significant(hundred, 2)}%`;
  };
  const bytes = (value) => {
    const units = ["B", "kB", "MB", "GB", "TB", "PB"];
    let at = 0;
    while (value >= 1000 && at < units.length - 1) { value /= 1000; at += 1; }
    return `${at === 0 && value >= 1 ? grouped(value, 0) : significant(value, 3)}\u00a0${units[at]}`;
  };
  const seconds = (value) => {
    for (const [size, unit] of [[1, "s"], [1e-3, "ms"], [1e-6, "µs"]]) {
      if (value >= size) return `${significant(value / size, 3)}\u00a0${unit}`;
    }
    return value ? `${significant(value * 1e9, 3)}\u00a0ns` : "0\u00a0s";
  };
  /* A factor as it is in the formula: four digits are enough to follow it. */
  const factor = (value) => String(Number(value.toPrecision(4)));

  const priceGiven = number(given.usd_per_mtok_input);
  const base = {
    requests: number(given.requests_per_month) ?? START_REQUESTS,
    price: priceGiven ?? START_PRICE,
    saved: 0,
    output: number(given.output_tokens_per_request),
    gpu: Math.max(0, given.gpus.findIndex((gpu) => gpu.name === given.gpu)),
    hour: null,
    remedies: new Set(),
  };
  base.hour = number(given.gpus[base.gpu]?.usd_per_hour);
  /* Output whose price is not known is left out of the bill, and the control says so. */
  const rates = {
    output: number(given.usd_per_mtok_output) ?? 0,
    cached: number(given.usd_per_mtok_cache_read),
  };
  const steps = report.waterfall?.steps ?? [];
  const state = { ...base, remedies: new Set() };

  /* What remedies leave of tokens and dollars, one after another, as the waterfall has it. */
  const mix = (now) => {
    const result = { prompt: 1, output: 1, requests: 1, inputUsd: 1, outputUsd: 1, running: 0 };
    steps.forEach((step, index) => {
      if (!now.remedies.has(index)) return;
      const tokens = Number(step.token_factor);
      if (step.applies_to === "input" || step.applies_to === "all") result.prompt *= tokens;
      if (step.applies_to === "output" || step.applies_to === "all") result.output *= tokens;
      result.requests *= Number(step.request_factor);
      result.inputUsd *= Number(step.input_factor);
      result.outputUsd *= Number(step.output_factor);
      result.running += Number(step.running_usd_per_month);
    });
    return result;
  };

  /* The price slider moves all rates of the ledger alike. */
  const bill = (now) => {
    const parts = mix(now);
    const scale = priceGiven ? now.price / priceGiven : 1;
    const input = given.input_tokens_per_request * (1 - now.saved);
    const cachedShare = given.cached_input_share;
    const cachedRate = (rates.cached ?? 0) * scale;
    const outputRate = rates.output * scale;
    const other = (number(given.usd_per_request_other) ?? 0) * scale * MILLION;
    const requests = now.requests * parts.requests;
    const value = (requests
      * (input * ((1 - cachedShare) * now.price + cachedShare * cachedRate) * parts.inputUsd
        + now.output * outputRate * parts.outputUsd + other)) / MILLION
      + parts.running;
    const saved = now.saved ? ` × (1 − ${percent(now.saved)})` : "";
    const left = (value) => (value === 1 ? "" : ` × ${factor(value)}`);
    const full = cachedShare ? ` × ${factor(1 - cachedShare)}` : "";
    const prompt = `${count(given.input_tokens_per_request)}${saved}`;
    const terms = [`${prompt}${full}${left(parts.inputUsd)} × ${usd(now.price)}`];
    if (cachedShare) {
      terms.push(`${prompt} × ${factor(cachedShare)}${left(parts.inputUsd)} × ${usd(cachedRate)}`);
    }
    if (now.output && outputRate) {
      terms.push(`${count(now.output)}${left(parts.outputUsd)} × ${usd(outputRate)}`);
    }
    if (other) terms.push(usd(other));
    const running = parts.running ? ` + ${usd(parts.running)}` : "";
    return {
      value,
      text: usd(value),
      period: "a month",
      aside: `${usd(value * MONTHS)} a year`,
      numbers: `${count(requests)} × (${terms.join(" + ")}) ÷ 1,000,000${running} = ${usd(value)}`,
    };
  };

  /* The report goes length by length; a slider knows only means. What the report's own figures are
     above or below the plain formula is kept as a factor, so that sliders start where it stands. */
  const figures = (report.tokenizers.find((one) => one.is_current) ?? report.tokenizers[0]).economics;
  const figure = (name) => number(figures[name]?.value);
  const isAsked = given.gpus[base.gpu]?.name === given.gpu;
  const ratio = (value, plain) => (value && plain ? value / plain : 1);
  const times = (value) => (Math.abs(value - 1) < 5e-4 ? "" : ` × ${factor(value)}`);
  const tokensOf = (now) => {
    const parts = mix(now);
    return {
      input: given.input_tokens_per_request * (1 - now.saved) * parts.prompt,
      output: now.output * parts.output,
    };
  };
  const memoryFactor = ratio(
    figure("kv_bytes_per_request_mean"),
    given.kv_bytes_per_token * (given.input_tokens_per_request + base.output),
  );

  /* Requests that fit beside the model on the fewest GPUs that hold it. */
  const fit = (now) => {
    const gpu = given.gpus[now.gpu];
    const { input, output } = tokensOf(now);
    const gpus = gpu.n_gpus ?? 1;
    const copies = gpu.kv_copies ?? 1;
    const request = given.kv_bytes_per_token * (input + output) * memoryFactor * copies;
    const requests = request ? Math.floor((gpu.kv_bytes ?? 0) / request) : 0;
    return { gpu, gpus, copies, input, output, requests };
  };

  const concurrency = (now) => {
    const { gpu, gpus, copies, input, output, requests } = fit(now);
    return {
      value: requests,
      more: true,
      text: count(requests),
      period: `at once${gpus > 1 ? ` on ${gpus} GPUs` : ""}`,
      numbers: `${bytes(gpu.kv_bytes ?? 0)} left on ${gpus} × ${gpu.name} ÷ `
        + `(${bytes(given.kv_bytes_per_token)} × ${count(input + output)}`
        + `${times(memoryFactor)}${times(copies)}) = ${count(requests)}`,
    };
  };

  /* Attention grows with the square of the tokens. */
  const linear = figure("prefill_linear_flops_per_request")
    ?? given.input_tokens_per_request * given.prefill_flops_per_token;
  const attention = figure("prefill_attention_flops_per_request") ?? 0;
  const rateOf = (gpu, gpus) => gpus * gpu.bf16_dense_flops_per_s * given.prefill_flops_share;
  const plainPrefill = (now) => {
    const { gpu, gpus, input } = fit(now);
    const left = input / given.input_tokens_per_request;
    return (linear * left + attention * left ** 2) / rateOf(gpu, gpus);
  };
  const prefillFactor = isAsked && given.weights_bytes !== null
    ? ratio(figure("prefill_seconds_per_request"), plainPrefill(base)) : 1;
  const tera = (flops) => `${factor(flops / 1e12)} TFLOP`;
  const prefill = (now) => {
    const { gpu, gpus, input } = fit(now);
    const left = input / given.input_tokens_per_request;
    const value = plainPrefill(now) * prefillFactor;
    return {
      value,
      text: seconds(value),
      numbers: `(${tera(linear)} × ${factor(left)} + ${tera(attention)} × ${factor(left)}²) ÷ (${gpus} × `
        + `${factor(gpu.bf16_dense_flops_per_s / 1e12)} TFLOP/s × ${percent(given.prefill_flops_share)})`
        + `${times(prefillFactor)} = ${seconds(value)}`,
    };
  };

  /* One decoding step of a full batch: reading weights and caches, or computing, whichever is longer.
     A batch holds what fits safely, of the lengths as they are. */
  const safeShare = isAsked
    ? Math.min(1, ratio(figure("concurrent_requests_safe"), figure("concurrent_requests_mean"))) : 1;
  const plainOwn = (now) => {
    const { gpu, gpus, output, input, requests } = fit(now);
    const batch = Math.round(requests * safeShare);
    if (!batch) return null;
    const cache = given.kv_bytes_per_token * (input + output / 2) * memoryFactor;
    const reading = (given.weights_bytes + batch * cache)
      / (gpus * gpu.memory_bandwidth_bytes_per_s * given.decode_bandwidth_share);
    const computing = (batch * given.prefill_flops_per_token) / rateOf(gpu, gpus);
    const step = Math.max(reading, computing);
    const first = prefill(now).value;
    return { gpus, output, batch, first, step, busy: first + (output * step) / batch };
  };
  const hourGiven = number(given.gpus[base.gpu]?.usd_per_hour);
  const ownFactor = () => {
    const perRequest = figure("own_gpu_usd_per_request");
    const plain = isAsked && hourGiven && perRequest ? plainOwn(base) : null;
    return plain ? (perRequest * SECONDS_PER_HOUR) / (hourGiven * plain.gpus) / plain.busy : 1;
  };
  const own = (now) => {
    const plain = now.hour === null ? null : plainOwn(now);
    if (!plain) return null;
    const scale = ownFactor();
    const groups = (now.requests * plain.busy * scale) / (HOURS_PER_MONTH * SECONDS_PER_HOUR);
    const whole = Math.max(1, Math.ceil(groups));
    const value = whole * plain.gpus * HOURS_PER_MONTH * now.hour;
    const n = whole * plain.gpus;
    return {
      value,
      text: usd(value),
      period: "a month",
      aside: `${count(n)} ${n === 1 ? "GPU" : "GPUs"}, ${percent(groups / whole)} busy`,
      numbers: `${count(now.requests)} × (${seconds(plain.first)} + ${count(plain.output)} × `
        + `${seconds(plain.step)} ÷ ${count(plain.batch)})${times(scale)} ÷ (${HOURS_PER_MONTH} × 3,600 s) `
        + `= ${significant(groups, 3)}; ${count(whole)} × ${plain.gpus} × ${HOURS_PER_MONTH} × `
        + `${usd(now.hour)} = ${usd(value)}`,
    };
  };

  const hasGpus = document.getElementById("what-if-gpu") !== null;
  const hasFlops = hasGpus && given.prefill_flops_per_token !== null;
  const results = {
    month: bill,
    fit: hasGpus ? concurrency : null,
    prefill: hasFlops ? prefill : null,
    own: hasFlops ? own : null,
  };

  const show = (id, compute) => {
    const box = panel.querySelector(`[data-result="${id}"]`);
    const now = compute && compute(state);
    box.hidden = !now;
    if (!now) return;
    const was = compute(base);
    box.querySelector(".now-value").textContent = now.text;
    box.querySelector(".period").textContent = now.period ?? "";
    box.querySelector(".now-value").dataset.value = String(now.value);
    box.querySelector(".numbers").textContent = now.numbers;
    const change = was && was.value ? now.value / was.value - 1 : 0;
    const sign = change > 0 ? "+" : MINUS;
    const element = box.querySelector(".change");
    element.textContent = Math.abs(change) < 5e-5 ? "" : sign + percent(Number(Math.abs(change).toPrecision(3)));
    element.classList.toggle("better", now.more ? change > 0 : change < 0);
    const top = Math.max(now.value, was ? was.value : 0) || 1;
    box.querySelector(".bar.was").style.width = `${was ? (100 * was.value) / top : 0}%`;
    box.querySelector(".bar.now").style.width = `${(100 * now.value) / top}%`;
    box.querySelector(".was.hint").textContent = [
      now.aside, was && element.textContent ? `was ${was.text}${was.period ? ` ${was.period}` : ""}` : "as it is",
    ].filter(Boolean).join("; ");
  };

  const control = (name) => panel.querySelector(`[data-control="${name}"]`);
  const note = (name, text) => {
    const box = control(name);
    if (box) box.querySelector(".note").textContent = text;
  };
  const update = () => {
    Object.entries(results).forEach(([id, compute]) => show(id, compute));
    note("price", rates.output || rates.cached
      ? `${rates.output ? `output ${usd((rates.output * state.price) / (priceGiven ?? 1))}` : ""}`
        + `${rates.output && rates.cached ? ", " : ""}`
        + `${rates.cached ? `cached ${usd((rates.cached * state.price) / (priceGiven ?? 1))}` : ""}: in proportion`
      : priceGiven === null ? "no price was given: a start value" : "");
    if (!rates.output) note("output", "no price of output is known: not in the bill");
    if (given.requests_per_month === null) note("requests", "not given: a start value");
  };

  /* A number field with a slider beside it; a slider over decades has its start in the middle. */
  const bind = (name, { toSlider, fromSlider, toField = (v) => v, fromField = (v) => v, digits = 7 }) => {
    const box = control(name);
    if (!box) return () => {};
    const field = box.querySelector('input[type="number"]');
    const slider = box.querySelector('input[type="range"]');
    const write = () => {
      const value = state[name];
      /* More digits would be noise in a field; the sum is computed with all. */
      field.value = value === null ? "" : String(Number(toField(value).toPrecision(digits)));
      if (slider) slider.value = String(toSlider(value));
    };
    field.addEventListener("input", () => {
      const value = Number(field.value);
      if (field.value === "" || !Number.isFinite(value) || value < 0) return;
      state[name] = fromField(value);
      if (slider) slider.value = String(toSlider(state[name]));
      update();
    });
    field.addEventListener("change", write);
    slider?.addEventListener("input", () => {
      state[name] = fromSlider(Number(slider.value));
      write();
      update();
    });
    return write;
  };
  const decades = (start) => ({
    toSlider: (value) =>
      value > 0 ? Math.max(0, Math.min(1000, 500 + (500 * Math.log10(value / start)) / DECADES)) : 0,
    fromSlider: (at) =>
      at === 500 ? start : Number((start * 10 ** (((at - 500) * DECADES) / 500)).toPrecision(3)),
  });
  const most = Math.max(1000, 4 * base.output);
  const writers = [
    bind("requests", decades(base.requests || START_REQUESTS)),
    bind("price", decades(base.price || START_PRICE)),
    bind("saved", {
      toSlider: (value) => value * 100,
      fromSlider: (at) => at / 100,
      toField: (value) => value * 100,
      fromField: (value) => Math.min(value, 100) / 100,
      digits: 4,
    }),
    bind("output", { toSlider: (v) => Math.min(v, most), fromSlider: (at) => at }),
    bind("hour", {}),
  ];
  const outputSlider = control("output").querySelector('input[type="range"]');
  outputSlider.max = String(most);
  const writeAll = () => {
    writers.forEach((write) => write());
    all("[data-remedy]").forEach((box) => { box.checked = state.remedies.has(Number(box.dataset.remedy)); });
    const select = document.getElementById("what-if-gpu");
    if (select) select.value = String(state.gpu);
    update();
  };

  document.getElementById("what-if-gpu")?.addEventListener("change", (event) => {
    state.gpu = Number(event.target.value);
    state.hour = number(given.gpus[state.gpu].usd_per_hour);
    note("hour", state.hour === null ? "not known of this GPU: put it in" : "");
    writeAll();
  });
  all("[data-remedy]").forEach((box) => {
    const index = Number(box.dataset.remedy);
    const step = steps[index];
    box.addEventListener("change", () => {
      if (box.checked) state.remedies.add(index);
      else state.remedies.delete(index);
      update();
    });
  });
  panel.querySelector("[data-reset]").addEventListener("click", () => {
    Object.assign(state, base, { remedies: new Set() });
    writeAll();
  });
  const apply = panel.querySelector("[data-apply-saved]");
  if (apply) {
    apply.querySelector("[data-saved]").textContent = percent(given.tokens_saved_share);
    apply.addEventListener("click", () => {
      state.saved = given.tokens_saved_share;
      writeAll();
    });
  }
  /* Said once a control is let go, not while it moves. */
  panel.addEventListener("change", () => {
    panel.querySelector('[role="status"]').textContent = `${bill(state).text} a month`;
  });

  document.querySelector(".needs-script").hidden = true;
  panel.hidden = false;
  if (hasGpus && base.hour === null) note("hour", "not known of this GPU: put it in");
  writeAll();
})();
