import { el, setText } from './dom.js';
import { connect, onChange, rows, setToken } from './live.js';
import { budgets } from './budgets.js';
import { fleet, moveFleet } from './fleet.js';
import { inbox, tasks } from './inbox.js';
import { pool } from './pool.js';
import { provisioner } from './provisioner.js';
import { count } from './words.js';

const main = document.getElementById('main');
const live = document.getElementById('live');
const pages = { fleet, inbox, provisioner, budgets, pool };
let leave = null;

// announce reports to screen readers, no more than once in two seconds.
let saying = 0, next = '';
function announce(text) {
  next = text;
  if (saying) return;
  saying = setTimeout(() => { saying = 0; setText(document.getElementById('announce'), next); }, 2000);
}

// route shows the page that the address names.
function route(first) {
  const [name, ...rest] = location.hash.replace(/^#\//, '').split('/').map((part) => { try { return decodeURIComponent(part); } catch { return part; } });
  const page = pages[name] && (name !== 'pool' || rest.length === 3) ? name : 'fleet';
  leave?.();
  main.replaceChildren();
  leave = pages[page](main, announce, rest);
  for (const link of document.querySelectorAll('nav [data-page]')) {
    if (link.dataset.page === page || (page === 'pool' && link.dataset.page === 'fleet')) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
  const heading = main.querySelector('h1');
  document.title = `${heading.textContent} – Slipway`;
  if (page !== 'fleet') window.scrollTo(0, 0);
  if (first !== true) heading.focus({ preventScroll: true });
}

// signIn asks for a token, and resolves when there is one.
function signIn(status) {
  leave?.();
  leave = null;
  return new Promise((resolve) => {
    const input = el('input', { type: 'password', id: 'token', autocomplete: 'off', spellcheck: 'false' });
    const form = el('form', { class: 'card signin' }, el('h1', { tabindex: -1 }, 'Sign in'),
      el('p', {}, status === 403 ? 'This user may not get /dashboard/. Ask for the ClusterRole that allows it, or use another token.' : 'Enter a token that may get /dashboard/. If you run slipway dashboard yourself, open the address that it printed.'),
      el('label', { for: 'token' }, 'Token'), input, el('button', { type: 'submit' }, 'Sign in'),
      el('p', { class: 'muted' }, 'The token stays in this tab, and is sent to this server only.'));
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      if (!input.value.trim()) return;
      setToken(input.value.trim());
      route();
      resolve();
    });
    main.replaceChildren(form);
    setText(live, 'Signed out');
    live.className = 'live waiting';
    input.focus();
  });
}

function report(state, status) {
  if (state === 'refused') return signIn(status);
  connection = state;
  showState();
  return null;
}

// showState shows whether the page is up to date: not while the server is away, and not while the API server is.
let connection = '';
const outdated = el('div', { class: 'notice', role: 'alert' });
function showState() {
  const outage = connection === 'live' && rows.get('outage');
  setText(live, outage ? 'Outdated' : connection === 'live' ? 'Live' : 'Reconnecting');
  live.className = 'live ' + (outage ? 'waiting' : connection);
  if (!outage) outdated.remove();
  else {
    setText(outdated, `The API server has not answered since ${new Date(outage.since).toLocaleTimeString()}. The page shows what it knew then, and will update when the API server answers again.`);
    if (!outdated.isConnected) main.before(outdated);
  }
}

onChange((changed) => {
  if (connection) showState();
  if (changed && ![...changed].some((key) => key !== 'meta')) return;
  const meta = rows.get('meta');
  setText(document.getElementById('cluster'), meta ? [meta.title, meta.namespace && `namespace ${meta.namespace}`].filter(Boolean).join(' · ') : '');
  document.getElementById('cluster').title = (meta?.missing ?? []).join('\n');
  const waiting = tasks().length;
  const badge = document.getElementById('inbox-count');
  badge.hidden = waiting === 0;
  setText(badge, count(waiting));
  document.getElementById('nav-budgets').hidden = !meta?.budgets;
  notice(meta?.missing ?? []);
});

// notice shows once what the page cannot show.
let noticed = false;
function notice(missing) {
  if (noticed || missing.length === 0) return;
  noticed = true;
  const box = el('div', { class: 'notice', role: 'note' }, el('p', {}, 'Not shown: ' + missing.join(' ')));
  const close = el('button', { type: 'button' }, 'Dismiss');
  close.addEventListener('click', () => box.remove());
  box.append(close);
  main.before(box);
}

// Light or dark: what the system prefers, until the user chooses.
const root = document.documentElement;
function theme(choice) {
  if (choice) root.dataset.theme = choice;
  else delete root.dataset.theme;
}
theme(localStorage.getItem('slipway-theme'));
document.getElementById('theme').addEventListener('click', () => {
  const dark = root.dataset.theme ? root.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
  localStorage.setItem('slipway-theme', dark ? 'light' : 'dark');
  theme(localStorage.getItem('slipway-theme'));
});

const help = document.getElementById('help');
document.getElementById('keys').addEventListener('click', () => help.showModal());
document.getElementById('help-close').addEventListener('click', () => help.close());

// moveRow moves the focus to the link of the next or previous row that is shown.
function moveRow(by) {
  if (moveFleet(by)) return;
  const links = [...main.querySelectorAll('a.poolname')].filter((link) => !link.closest('[hidden]'));
  const at = links.indexOf(document.activeElement);
  const to = links[at < 0 ? (by > 0 ? 0 : links.length - 1) : Math.min(links.length - 1, Math.max(0, at + by))];
  to?.focus();
  to?.scrollIntoView({ block: 'nearest' });
}

document.addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || help.open) return;
  const field = event.target.closest?.('input, select, textarea');
  const search = document.getElementById('search');
  const keys = {
    '/': () => { if (search) { search.focus(); search.select(); } else { location.hash = '#/fleet'; } },
    '?': () => help.showModal(), f: () => { location.hash = '#/fleet'; }, i: () => { location.hash = '#/inbox'; }, p: () => { location.hash = '#/provisioner'; }, a: () => { if (rows.get('meta')?.budgets) location.hash = '#/budgets'; },
    ArrowDown: () => moveRow(1), ArrowUp: () => moveRow(-1), j: () => moveRow(1), k: () => moveRow(-1),
    Escape: () => {
      if (search && search.value) { search.value = ''; search.dispatchEvent(new Event('input')); search.focus(); } else if (field) field.blur(); else if (!search) location.hash = '#/fleet';
    },
  };
  if (field && !(field === search && ['Escape', 'ArrowDown'].includes(event.key)) && event.key !== 'Escape') return;
  if (event.target.closest?.('pre, [role=region]') && event.key.startsWith('Arrow')) return; // it scrolls
  if (!keys[event.key]) return;
  event.preventDefault();
  keys[event.key]();
});

// A click anywhere in a row of the fleet opens it, unless text is being selected.
main.addEventListener('click', (event) => {
  const link = event.target.closest('table.fleet tbody tr')?.querySelector('a.poolname');
  if (link && !event.target.closest('a, button') && getSelection().isCollapsed) location.hash = link.getAttribute('href');
});

// The token is in the fragment, which browsers send nowhere. It does not stay in the address.
const given = /^#token=([\w.~+/=-]+)$/.exec(location.hash)?.[1];
if (given) {
  setToken(given);
  history.replaceState(null, '', location.pathname + '#/fleet');
}
window.addEventListener('hashchange', () => { if (document.getElementById('token') === null) route(); });
route(true);
connect(report);
