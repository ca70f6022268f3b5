"use strict";
// Everything is set as text, because names and messages come from servers and lists.
const size = n => {
  let unit = 0;
  for (; n >= 1024 && unit < 5; unit++) n /= 1024;
  return (unit ? n.toFixed(1) : n) + " " + ["B", "KiB", "MiB", "GiB", "TiB", "PiB"][unit];
};
const time = s => s < 0 ? "" : s < 90 ? s + " s" : s < 5400 ? Math.round(s / 60) + " min" : (s / 3600).toFixed(1) + " h";

function table(id, head, rows) {
  const body = rows.map(cells => {
    const tr = document.createElement("tr");
    for (const cell of cells) {
      const td = tr.insertCell();
      td.append(cell);
    }
    return tr;
  });
  const top = document.createElement("tr");
  for (const text of head) {
    const th = document.createElement("th");
    th.textContent = text;
    top.append(th);
  }
  document.getElementById(id).replaceChildren(top, ...body);
}

function progress(job) {
  const p = document.createElement("progress");
  p.max = Math.max(1, job.files);
  p.value = job.ended;
  return p;
}

function report(job) {
  const a = document.createElement("a");
  a.href = "report/" + encodeURIComponent(job.job);
  a.textContent = "report";
  return a;
}

function show(jobs) {
  table("jobs", ["job", "list", "state", "", "complete", "failed", "bytes", "left", ""], jobs.map(j => [
    j.job, j.list, j.state, progress(j), j.complete + " of " + j.files, String(j.failed), size(j.bytes), time(j.seconds_left), report(j),
  ]));
  const now = jobs[0] || {hosts: [], fleet: []};
  table("hosts", ["host", "egress", "slots in use", "cap", "state", "why", "since", "what happens next"], now.hosts.map(h =>
    [h.host, h.egress, String(h.slots), String(h.cap), h.state, h.why || "", h.since ? new Date(h.since).toLocaleString() : "", h.next || ""]));
  table("workers", ["worker", "lanes", "rate", "files a second", "leaves hosts because"], (now.fleet || []).map(w =>
    [w.name, String(w.lanes), size(w.rate) + "/s", w.files.toFixed(1), (w.troubles || []).map(t => t.why).filter(why => why).join("; ")]));
  table("failures", ["job", "files", "exit code", "host", "worker"], jobs.flatMap(j => Object.entries(j.by || {}).map(([by, n]) =>
    [j.job, String(n), ...by.split(" ")])));
}

const state = document.getElementById("state");
const events = new EventSource("events");
events.onmessage = e => {
  const jobs = JSON.parse(e.data);
  show(jobs);
  const room = (jobs[0] || {}).room || {};
  state.textContent = room.full ? "the disk of the server is full: " + size(room.free) + " are free in " + room.dir : "live";
  state.className = room.full ? "bad" : "";
};
events.onerror = () => {
  state.textContent = "no answer: trying again";
  state.className = "bad";
};
