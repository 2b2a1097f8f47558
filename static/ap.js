// What the pages do beyond links and forms. Every page works without it.
(() => {
  "use strict";
  const root = document.documentElement;
  root.classList.add("js");
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];
  const one = (selector, from = document) => from.querySelector(selector);

  // Plain times keep up with the clock: the server's, which a test may have moved.
  const skew = Date.parse(root.dataset.now) - Date.now();
  const now = () => Date.now() + skew;
  const minute = 60000;

  function span(ms) {
    const minutes = Math.floor(ms / minute);
    if (minutes < 1) return "a moment";
    if (minutes < 90) return minutes + " min";
    if (minutes < 48 * 60) return Math.floor(minutes / 60) + " h";
    return Math.floor(minutes / (24 * 60)) + " days";
  }

  function plain(kind, at) {
    const since = now() - at;
    if (kind === "due") {
      if (Math.abs(since) < minute) return "due now";
      return since > 0 ? span(since) + " overdue" : "due in " + span(-since);
    }
    if (since < 0) return "in " + span(-since);
    return since < minute ? "just now" : span(since) + " ago";
  }

  const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "short" });

  function times(from = document) {
    for (const time of all("time[data-plain]", from)) {
      const at = Date.parse(time.dateTime);
      if (Number.isNaN(at)) continue;
      if (!time.dataset.exact) {
        time.dataset.exact = "1";
        time.title = exact.format(at) + " · " + time.title;
      }
      if (Math.abs(now() - at) > 30 * 24 * 60 * minute) continue; // shown as a date
      const text = plain(time.dataset.plain, at);
      if (time.textContent !== text) time.textContent = text;
    }
  }

  times();
  setInterval(times, minute / 2);
  document.addEventListener("htmx:afterSwap", (event) => times(event.target));

  // Live updates say that something changed; the page then asks what that means for it. Nothing moves by itself.
  const live = document.body.dataset.live;
  let stream = null, asked = 0, waiting = null;

  function listen() {
    if (stream || document.hidden) return;
    stream = new EventSource("/events");
    stream.addEventListener("changed", soon);
    stream.addEventListener("signed-out", quiet);
  }

  function quiet() {
    if (stream) stream.close();
    stream = null;
  }

  function soon() {
    if (waiting) return;
    waiting = setTimeout(ask, Math.max(300, asked + 2500 - Date.now()));
  }

  async function ask() {
    waiting = null;
    asked = Date.now();
    try {
      const answer = await fetch(live + location.search, { headers: { "HX-Request": "true" } });
      if (answer.ok) show(await answer.json());
    } catch { /* the next change asks again */ }
  }

  function show(state) {
    const count = one("[data-count]");
    if (count) {
      count.hidden = !state.waiting;
      one("[data-count-number]", count).textContent = state.waiting + (state.more ? "+" : "");
    }
    if (state.items) showInbox(state);
    else showItem(state);
  }

  function showInbox(state) {
    const rows = all("#list [data-item]");
    const shown = new Set(rows.map((row) => row.dataset.item));
    const open = new Set(state.items);
    if (!state.full) {
      for (const row of rows) {
        const gone = !open.has(row.dataset.item);
        row.classList.toggle("gone", gone);
        one("[data-gone]", row).hidden = !gone;
      }
    }
    const fresh = state.items.filter((id) => !shown.has(id)).length;
    const text = fresh ? (fresh === 1 ? "1 new item" : fresh + " new items") : "";
    const news = one("[data-news]");
    one("[data-news-text]").textContent = text && text + ": show";
    news.hidden = !text;
    const status = one("[data-news-status]");
    if (status.textContent !== text) status.textContent = text;
  }

  function showItem(state) {
    const form = one("[data-decide]");
    const box = one("[data-live-change]");
    if (!form || !box) return;
    let text = "";
    if (!state.open) text = state.by ? state.by + " decided this meanwhile." : "There is nothing to decide here any more.";
    else if (state.snapshot !== form.elements.snapshot.value)
      text = "Something here changed while you had it open. You can still send your decision: you will see what changed before anything is decided.";
    box.hidden = !text;
    one("[data-live-text]", box).textContent = text;
  }

  if (live && window.EventSource) {
    listen();
    document.addEventListener("visibilitychange", () => {
      if (document.hidden) quiet();
      else { listen(); soon(); }
    });
    window.addEventListener("pagehide", quiet);
    window.addEventListener("pageshow", (event) => { if (event.persisted) { listen(); soon(); } });
  }

  one("[data-news]")?.addEventListener("click", (event) => {
    event.currentTarget.hidden = true;
    if (!window.htmx) return location.reload();
    window.htmx.ajax("GET", location.pathname + location.search, { target: "#list", select: "#list", swap: "outerHTML" });
  });

  // Keys: one letter each, and off for whoever doesn't want them (WCAG 2.1.4).
  const dialog = one("#shortcuts");
  const toggle = one("[data-shortcuts-on]");
  const stored = { get: () => { try { return localStorage.getItem("ap-keys"); } catch { return null; } },
                   set: (v) => { try { localStorage.setItem("ap-keys", v); } catch { /* private window */ } } };
  if (toggle) {
    toggle.checked = stored.get() !== "off";
    toggle.addEventListener("change", () => stored.set(toggle.checked ? "on" : "off"));
  }
  one("[data-shortcuts-open]")?.addEventListener("click", () => dialog.showModal());

  function step(by) {
    const links = all("#list [data-open]");
    if (!links.length) return;
    const at = links.indexOf(document.activeElement);
    const to = at < 0 ? (by > 0 ? 0 : links.length - 1) : Math.min(Math.max(at + by, 0), links.length - 1);
    links[to].focus();
    links[to].scrollIntoView({ block: "nearest" });
  }

  const keys = {
    j: () => step(1),
    k: () => step(-1),
    u: () => one("[data-up]")?.click(),
    "/": () => one("#search")?.focus(),
    "?": () => dialog?.showModal(),
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || dialog?.open) return;
    if (event.target.closest?.("input, textarea, select, [contenteditable]")) return;
    if (toggle && !toggle.checked) return;
    const act = keys[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });

  // Files go up while the rest is filled in; a form that is sent meanwhile waits for them.
  const uploads = new WeakMap();

  function uploadsOf(form) {
    if (!uploads.has(form)) uploads.set(form, { open: 0, then: null });
    return uploads.get(form);
  }

  function upload(input, file) {
    const form = input.form, field = input.closest("[data-drop]");
    const list = one("[data-files]", field), status = one("[data-files-status]", field);
    const row = document.createElement("li");
    row.className = "file-wait";
    const name = document.createElement("bdi");
    name.textContent = file.name;
    const bar = document.createElement("progress");
    bar.max = 1;
    bar.value = 0;
    bar.setAttribute("aria-label", "Uploading " + file.name);
    row.append(name, bar);
    list.append(row);
    const fail = (text) => {
      row.classList.add("file-bad");
      row.replaceChildren(name, document.createTextNode(": " + text));
      status.textContent = file.name + ": " + text;
    };
    const max = Number(form.dataset.maxUpload);
    if (max && file.size > max) return fail("larger than the limit, not uploaded.");
    const state = uploadsOf(form);
    state.open++;
    const request = new XMLHttpRequest();
    request.open("POST", form.dataset.upload);
    request.setRequestHeader("HX-Request", "true");
    request.upload.addEventListener("progress", (event) => { if (event.lengthComputable) bar.value = event.loaded / event.total; });
    request.addEventListener("loadend", () => {
      if (request.status === 200) {
        row.outerHTML = request.responseText;
        status.textContent = file.name + " uploaded.";
      } else if (request.status === 401) {
        fail("you are signed out. Send the form to sign in, then choose the file again.");
      } else {
        fail(request.status === 422 ? request.responseText.trim() : "not uploaded. Choose it again.");
      }
      if (--state.open === 0 && state.then) {
        const submitter = state.then;
        state.then = null;
        form.requestSubmit(submitter);
      }
    });
    const body = new FormData();
    body.append("file", file, file.name);
    request.send(body);
  }

  function take(input, files) {
    for (const file of files) upload(input, file);
    input.value = "";
  }

  for (const field of all("[data-drop]")) {
    const input = one("input[type=file]", field);
    if (!input.form?.dataset.upload) continue;
    input.addEventListener("change", () => take(input, [...input.files]));
    field.addEventListener("dragover", (event) => { event.preventDefault(); field.classList.add("dropping"); });
    field.addEventListener("dragleave", () => field.classList.remove("dropping"));
    field.addEventListener("drop", (event) => {
      event.preventDefault();
      field.classList.remove("dropping");
      take(input, [...event.dataTransfer.files]);
    });
  }

  // A form is sent once, however often its button is pressed. The server sees to the same.
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (form.method !== "post" || !form.elements.requestId) return;
    const state = uploadsOf(form);
    if (form.dataset.sending || state.open > 0) {
      if (state.open > 0) state.then = event.submitter;
      event.preventDefault();
      return;
    }
    form.dataset.sending = "1";
    event.submitter?.setAttribute("aria-busy", "true");
  });
  window.addEventListener("pageshow", () => {
    for (const form of all("form[data-sending]")) {
      delete form.dataset.sending;
      for (const button of all("[aria-busy]", form)) button.removeAttribute("aria-busy");
    }
  });

  // The offset beside a date and time is this browser's, at that time, unless it was typed.
  function offsetAt(value) {
    const date = value ? new Date(value) : new Date();
    const minutes = -(Number.isNaN(date.getTime()) ? new Date() : date).getTimezoneOffset();
    const two = (n) => String(Math.floor(Math.abs(n))).padStart(2, "0");
    return (minutes < 0 ? "-" : "+") + two(minutes / 60) + ":" + two(minutes % 60);
  }

  for (const offset of all("[data-offset]")) {
    const local = document.getElementById(offset.dataset.offset);
    const set = () => { if (!offset.dataset.kept) offset.value = offsetAt(local.value); };
    offset.addEventListener("input", () => { offset.dataset.kept = "1"; });
    local.addEventListener("change", set);
    set();
  }

  // A signed link to a file works for a while; a page that has been open for longer asks for a new one.
  setTimeout(() => {
    for (const link of all("a[data-again]")) link.href = link.dataset.again;
  }, 5 * minute);

  // A map that is wider than its place shows the step that the page is about.
  for (const current of all(".map .map-current")) {
    const frame = current.closest(".scroll"), box = current.getBoundingClientRect(), seen = frame.getBoundingClientRect();
    frame.scrollLeft += box.left + box.width / 2 - seen.left - seen.width / 2;
  }

  // On a narrow screen the way to the form leaves once the form is there.
  const dock = one(".dock"), side = one("#decide");
  if (dock && side && window.IntersectionObserver) {
    new IntersectionObserver((seen) => dock.classList.toggle("at-form", seen[0].isIntersecting)).observe(side);
  }
})();
