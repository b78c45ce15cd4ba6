"use strict";
// The page's script: it asks the server for the rows on the screen, opens what a cell is about, and sends what a person confirms.
// The server makes all HTML, and escapes what strangers may have written.
(() => {
  const keyName = "ostinato-page";
  const given = document.querySelector('meta[name="ostinato-page"]');
  if (given) {
    localStorage.setItem(keyName, given.content);
    location.replace("/");
    return;
  }

  const byID = (id) => document.getElementById(id);
  const scroll = byID("scroll"), rows = byID("rows"), filters = byID("filters"), panel = byID("panel"), content = byID("content");
  const height = parseInt(getComputedStyle(document.documentElement).getPropertyValue("--row"), 10);
  const most = Number(document.body.dataset.most), refresh = Number(document.body.dataset.refresh);
  const trusted = window.trustedTypes ? trustedTypes.createPolicy("ostinato", { createHTML: (text) => text }) : { createHTML: (text) => text };

  const parse = (text) => {
    const template = document.createElement("template");
    template.innerHTML = trusted.createHTML(text);
    return template.content;
  };

  // ask returns what the server answers, as a fragment of a page.
  const ask = async (path, options = {}) => {
    const address = new URL(path, location.origin);
    if (address.origin !== location.origin) throw new Error("the page asks its own server only");
    const answer = await fetch(address, { ...options, headers: { "X-Ostinato-Page": localStorage.getItem(keyName) || "" } });
    const html = (answer.headers.get("Content-Type") || "").startsWith("text/html");
    if (answer.status === 403 && !html) throw new Error("This browser is not let in any more. Call ostinato ui again.");
    const text = await answer.text();
    return { ok: answer.ok, part: html ? parse(text) : document.createTextNode(text) };
  };

  const complain = (texts) => {
    const shown = texts.map((text) => { const line = document.createElement("p"); line.textContent = text; return line; });
    if (byID("problems").textContent !== texts.join("")) byID("problems").replaceChildren(...shown);
  };

  // The rows on the screen, and a few more on either side. Only they are in the document.
  let loaded = { from: 0, count: 0, total: 0 }, current = null, wanted = null;
  const view = () => {
    const first = Math.floor(Math.max(scroll.scrollTop, 0) / height), fit = Math.ceil(scroll.clientHeight / height) + 1;
    return { first, last: first + fit, from: Math.max(first - 5, 0), count: Math.min(fit + 10, most) };
  };

  const chosen = () => new URLSearchParams([...new FormData(filters)].filter(([, value]) => value !== ""));

  const load = async (fill) => {
    if (current) current.abort();
    const mine = current = new AbortController();
    const params = chosen(), { from, count } = view();
    params.set("from", from);
    params.set("count", count);
    if (fill) params.set("fill", "1");
    try {
      const { ok, part } = await ask("/rows?" + params, { signal: mine.signal });
      if (current !== mine) return;
      if (!ok) return complain([part.textContent.trim()]);
      if (render(part) && !fill) return load(true);
    } catch (problem) {
      if (problem.name === "AbortError" || current !== mine) return;
      complain([problem instanceof TypeError ? "ostinato ui does not answer. Is it still running?" : problem.message]);
    }
    if (current === mine) current = null;
  };

  // render shows an answer, and reports whether Temporal would add to it.
  const render = (part) => {
    const table = part.getElementById("grid"), active = document.activeElement;
    for (const space of part.querySelectorAll("[data-space]")) space.firstElementChild.style.height = space.dataset.space * height + "px";
    loaded = { from: Number(table.dataset.from), count: Number(table.dataset.count), total: Number(table.dataset.total) };
    const summary = part.querySelector("[data-summary]").textContent;
    if (byID("summary").textContent !== summary) byID("summary").textContent = summary;
    byID("read").textContent = part.querySelector("[data-read]").textContent;
    complain([...part.querySelectorAll("[data-problem]")].map((problem) => problem.textContent));
    const partial = table.dataset.partial === "1", within = rows.contains(active) ? { ...active.dataset } : null;
    rows.replaceChildren(part);
    restore(within);
    return partial;
  };

  // Of all cells one can be reached by the tab key; arrows go from there.
  const restore = (within) => {
    const buttons = [...rows.querySelectorAll("button[data-row]")];
    const row = wanted && rows.querySelector(`tr[data-index="${wanted.index}"]`);
    let target = row ? nearest(row, wanted.column) : within && buttons.find((one) => one.dataset.row === within.row && one.dataset.column === within.column);
    const focus = Boolean(target);
    if (row) wanted = null;
    target = target || buttons[0];
    if (target) reachable(target);
    if (focus) target.focus({ preventScroll: !row });
  };

  const nearest = (row, column) => {
    const distance = (one) => Math.abs(Number(one.dataset.column) - column);
    return [...row.querySelectorAll("button[data-row]")].reduce((best, one) => (best && distance(best) <= distance(one) ? best : one), null);
  };

  const reachable = (to) => {
    for (const one of rows.querySelectorAll('button[data-row][tabindex="0"]')) one.tabIndex = -1;
    to.tabIndex = 0;
  };

  const go = (to) => {
    reachable(to);
    to.focus();
  };

  rows.addEventListener("keydown", (event) => {
    const from = event.target.closest("button[data-row]");
    if (!from || event.ctrlKey || event.altKey || event.metaKey) return;
    const row = from.closest("tr"), inRow = [...row.querySelectorAll("button[data-row]")], at = inRow.indexOf(from);
    const page = Math.max(Math.floor(scroll.clientHeight / height) - 2, 1);
    const vertical = { ArrowUp: -1, ArrowDown: 1, PageUp: -page, PageDown: page }[event.key];
    const sideways = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: inRow.length - 1 }[event.key];
    if (vertical === undefined && sideways === undefined) return;
    event.preventDefault();
    if (sideways !== undefined) return inRow[sideways] && go(inRow[sideways]);
    const index = Math.min(Math.max(Number(row.dataset.index) + vertical, 0), loaded.total - 1), column = Number(from.dataset.column);
    const there = rows.querySelector(`tr[data-index="${index}"]`);
    if (there) return go(nearest(there, column));
    wanted = { index, column };
    scroll.scrollTop = Math.max(index * height - scroll.clientHeight / 2, 0);
    load();
  });

  let pending = false;
  scroll.addEventListener("scroll", () => {
    if (pending) return;
    pending = true;
    requestAnimationFrame(() => {
      pending = false;
      const { first, last } = view();
      if (first < loaded.from || Math.min(last, loaded.total) > loaded.from + loaded.count) load();
    });
  });
  window.addEventListener("resize", () => load());

  let typing = 0;
  const filter = () => {
    history.replaceState(null, "", "/?" + chosen());
    scroll.scrollTop = 0;
    load();
  };
  filters.addEventListener("input", () => { clearTimeout(typing); typing = setTimeout(filter, 150); });
  filters.addEventListener("submit", (event) => { event.preventDefault(); filter(); });
  for (const [name, value] of new URLSearchParams(location.search)) {
    const field = filters.elements[name];
    if (!field) continue;
    if (field.type === "checkbox") field.checked = true; else field.value = value;
  }

  // What a cell, a name or a form is about is shown beside the rows. The rows may be replaced meanwhile, so the place is kept by name.
  let opener = null;
  const show = async (question) => {
    if (!panel.open) {
      opener = rows.contains(document.activeElement) ? { ...document.activeElement.dataset } : null;
      panel.showModal();
    }
    content.setAttribute("aria-busy", "true");
    try {
      const { ok, part } = await question();
      content.replaceChildren(part);
      const title = content.querySelector("#title");
      if (title) title.focus();
      return ok;
    } catch (problem) {
      content.textContent = problem instanceof TypeError ? "ostinato ui does not answer. Is it still running?" : problem.message;
      return false;
    } finally {
      content.removeAttribute("aria-busy");
    }
  };
  document.addEventListener("click", (event) => {
    const opens = event.target.closest("[data-open]");
    if (opens) show(() => ask(opens.dataset.open));
    else if (event.target.closest("[data-close]") || event.target === panel) panel.close();
  });
  document.addEventListener("submit", async (event) => {
    const form = event.target.closest("form[data-post]");
    if (!form) return;
    event.preventDefault();
    for (const button of form.querySelectorAll("button")) button.disabled = true;
    const body = new URLSearchParams(new FormData(form));
    if (await show(() => ask(form.dataset.post, { method: "POST", body })) && form.dataset.post === "/do") load();
  });
  panel.addEventListener("close", () => {
    content.replaceChildren();
    if (opener && !rows.contains(document.activeElement)) restore(opener);
    opener = null;
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || panel.open || event.target.closest("input, select")) return;
    event.preventDefault();
    filters.elements.text.focus();
  });

  setInterval(() => { if (document.visibilityState === "visible" && !current) load(); }, refresh);
  document.addEventListener("visibilitychange", () => { if (document.visibilityState === "visible") load(); });
  load();
})();
