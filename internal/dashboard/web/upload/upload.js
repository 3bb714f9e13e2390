// Sends a file in chunks directly to a bucket. A chunk that fails is sent again at a new URL.
// After an interruption, the same file continues with the chunks that are missing.
//
// A form with a field data-upload sends its file with it, unless the file goes in the form. A button
// named keep keeps the file for later.
// A button data-upload-to opens the choice of a file, and enters the link of the file in the
// input of that ID.
"use strict";

(() => {
  const attempts = 5;
  const leaving = (event) => event.preventDefault();
  const wait = (ms, stop) => new Promise((resolve) => { setTimeout(resolve, ms); stop.addEventListener("abort", resolve); });

  // call posts fields to the dashboard and returns its answer.
  async function call({ field, stop }, path, fields) {
    const headers = { "X-CSRF-Token": JSON.parse(document.body.getAttribute("hx-headers"))["X-CSRF-Token"] };
    const answer = await fetch(field.dataset.upload + path, { method: "POST", headers, body: new URLSearchParams(fields), signal: stop });
    const isJSON = (answer.headers.get("Content-Type") ?? "").startsWith("application/json");
    const read = isJSON ? await answer.json() : {};
    if (answer.ok && isJSON) return read;
    const over = [401, 403].includes(answer.status) ? field.dataset.session : undefined;
    throw Object.assign(new Error("refused"), { text: read.error ?? over });
  }

  // put sends a chunk with its progress.
  function put(url, chunk, stop, progress) {
    return new Promise((resolve, reject) => {
      const request = new XMLHttpRequest();
      request.open("PUT", url);
      request.upload.onprogress = (event) => progress(event.loaded);
      request.onload = () => (request.status === 200 ? resolve() : reject(new Error("status")));
      request.onerror = request.onabort = () => reject(new Error("network"));
      stop.addEventListener("abort", () => request.abort());
      request.send(chunk);
    });
  }

  async function sendChunk(upload, id, number, chunk, progress) {
    for (let attempt = 1; ; attempt++) {
      try {
        const { url } = await call(upload, "/chunk", { id, chunk: number });
        return await put(url, chunk, upload.stop, progress);
      } catch (error) {
        if (error.text || upload.stop.aborted || attempt === attempts) throw error;
        await wait(1000 * 2 ** (attempt - 1), upload.stop);
      }
    }
  }

  // send sends a file and returns the answer to its end. The tab remembers an unfinished upload.
  async function send(upload, file, entered, progress) {
    const { field } = upload, size = Number(field.dataset.chunk), fileName = file.name;
    const remembered = ["upload", field.dataset.upload, file.name, file.size, file.lastModified].join(" ");
    const { id, sent } = await call(upload, "", {
      ...entered, fileName, size: file.size, modified: file.lastModified, id: sessionStorage.getItem(remembered) ?? "",
    });
    sessionStorage.setItem(remembered, id);
    for (let from = 0, number = 1; from < file.size; from += size, number++) {
      if (!sent.includes(number)) await sendChunk(upload, id, number, file.slice(from, from + size), (part) => progress((from + part) / file.size));
      progress(Math.min(1, (from + size) / file.size));
    }
    const answer = await call(upload, "/finish", { id, fileName, stays: upload.target ? "1" : "", keep: entered.keep ?? "" });
    sessionStorage.removeItem(remembered);
    return answer;
  }

  // show changes the text only where it differs, because screen readers say each change.
  function show(field, text, bad) {
    const status = field.querySelector("[role=status]");
    if (status.textContent !== text) status.textContent = text;
    status.className = bad ? "notice bad" : "hint";
  }

  // work shows or hides what is there while a file is sent.
  function work(field, buttons, on) {
    const stop = field.querySelector("[data-stop]"), wasStopped = document.activeElement === stop;
    field.querySelector("progress").hidden = stop.hidden = !on;
    buttons.forEach((button) => (button.disabled = on));
    if (wasStopped) buttons[0].focus();
    on ? addEventListener("beforeunload", leaving) : removeEventListener("beforeunload", leaving);
  }

  // start sends a file. Then the page is left, or the input with the ID target gets the link.
  async function start(field, file, buttons, { entered = {}, target }) {
    const control = new AbortController(), bar = field.querySelector("progress");
    field.querySelector("[data-stop]").onclick = () => control.abort();
    const progress = (part) => {
      bar.value = part;
      show(field, field.dataset.sending.replace("{0}", Math.floor(10 * part) * 10));
    };
    field.hidden = false;
    work(field, buttons, true);
    progress(0);
    try {
      const { path, link } = await send({ field, target, stop: control.signal }, file, entered, progress);
      removeEventListener("beforeunload", leaving);
      if (path) return leave(path);
      fill(target, link);
      show(field, field.dataset.sent + " " + file.name);
    } catch (error) {
      show(field, error.text ?? field.dataset.stopped, true);
    }
    work(field, buttons, false);
  }

  function leave(path) {
    sessionStorage.removeItem("entered");
    location.assign(path);
  }

  // fill enters a link. The form may have been replaced meanwhile, without this input.
  function fill(target, link) {
    const input = document.getElementById(target);
    if (!input) return;
    input.value = link;
    input.dispatchEvent(new Event("input", { bubbles: true }));
    input.focus();
  }

  // goesInForm reports whether a form can take its file.
  const goesInForm = ({ dataset }, file) => file.size < Number(dataset.from);

  document.addEventListener("submit", (event) => {
    const { target: form, submitter } = event, field = form.querySelector("[data-upload]"), file = field && form.querySelector("input[type=file]").files[0];
    if (!file || (submitter?.hasAttribute("formaction") && submitter.name !== "keep") || goesInForm(field, file)) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    const entered = Object.fromEntries([...new FormData(form, submitter)].filter(([, value]) => typeof value === "string"));
    start(field, file, [...form.querySelectorAll("button:not([data-stop])")], { entered });
  }, true);

  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-upload-to]"), box = document.querySelector("[data-uploader]");
    if (!button || !box.querySelector("progress").hidden) return; // one file at a time
    const input = box.querySelector("input[type=file]");
    input.value = "";
    input.onchange = () => {
      box.hidden = false;
      start(box.querySelector("[data-upload]"), input.files[0], [button], { target: button.dataset.uploadTo });
    };
    input.click();
  });
})();
