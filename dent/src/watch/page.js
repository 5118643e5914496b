// SPDX-License-Identifier: MIT
// Replaces parts of the page by those that the server sends. A connection without heartbeats, or a refused one, is
// opened again; the server then sends every part.
'use strict';
const main = document.querySelector('main');
let source = null;
let heard = Date.now();

function say(text, tone) {
  const link = document.getElementById('link');
  if (!link) return;
  link.textContent = text;
  link.className = tone;
}

function tick() {
  for (const span of document.querySelectorAll('[data-since]')) {
    const seconds = Math.max(0, Math.round((Date.now() - Date.parse(span.dataset.since)) / 1000));
    span.textContent = seconds < 120 ? `${seconds} s` : `${Math.floor(seconds / 60)} min`;
  }
}

function replace(part) {
  const section = document.getElementById(part.id);
  if (!section) return;
  const open = [...section.querySelectorAll('details[open]')].map((one) => one.id).filter((id) => id);
  const scrolled = [...section.querySelectorAll('.scroll')].map((one) => one.scrollLeft);
  section.innerHTML = part.markup; // escaped by the server
  for (const id of open) document.getElementById(id)?.setAttribute('open', '');
  section.querySelectorAll('.scroll').forEach((one, i) => { one.scrollLeft = scrolled[i] || 0; });
}

function order(ids) {
  for (const section of [...main.children]) if (!ids.includes(section.id)) section.remove();
  for (const id of ids) {
    const section = document.getElementById(id) || Object.assign(document.createElement('section'), { id });
    main.append(section);
  }
}

function connect() {
  if (source) source.close();
  source = new EventSource('/events');
  heard = Date.now();
  const on = (kind, act) => source.addEventListener(kind, (event) => {
    heard = Date.now();
    act(JSON.parse(event.data));
    say('live', 'good');
    tick();
  });
  on('title', (data) => { document.title = data.title; });
  on('order', (data) => order(data.ids));
  on('part', replace);
  on('beat', () => {});
  source.onerror = () => say('reconnecting', 'unsure');
}

setInterval(() => {
  tick();
  if (source.readyState === EventSource.CLOSED || Date.now() - heard > 8000) {
    say('reconnecting', 'unsure');
    connect();
  }
}, 1000);
connect();
