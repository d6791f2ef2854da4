import { el, stacked } from './dom.js';
import { rows, onChange, ofKind } from './live.js';
import { count, plural } from './words.js';

const numbers = new Intl.NumberFormat('en', { maximumFractionDigits: 1 });

// name says in words what shares a budget.
const name = (b) => (b.name.endsWith(':') ? `all actions of ${b.name.slice(0, -1)}` : b.name);

function waiting(b) {
  if (b.waiters === 0) return el('span', { class: 'muted' }, 'nothing');
  const named = (b.waiting ?? []).map((w) => el('li', {}, w.caller || 'callers that share a request', el('span', { class: 'muted' }, ` needs ${plural(w.requests, 'request')}`)));
  if (b.waiters > named.length) named.push(el('li', { class: 'muted' }, `and ${count(b.waiters - named.length)} more`));
  return el('ul', { class: 'changes' }, named);
}

// budgets shows how much of AWS's request rates the manager has left, and which objects wait for it.
export function budgets(main, announce) {
  const content = el('div', {});
  main.append(el('div', { class: 'head' }, el('h1', { tabindex: -1 }, 'AWS requests')),
    el('p', { class: 'muted' }, 'AWS limits how often an account may call each action in a region. The manager stays within these rates, and has objects wait when nothing is left.'), content);
  let shown = '', said = '';
  function show() {
    const all = ofKind('Budget').sort((a, b) => b.waiters - a.waiters || a.left / a.burst - b.left / b.burst || a.name.localeCompare(b.name));
    const now = JSON.stringify(all);
    if (now === shown && content.firstChild) return;
    shown = now;
    if (all.length === 0) {
      content.replaceChildren(el('div', { class: 'empty' }, el('p', {}, rows.get('meta')?.budgets ? 'This replica of the manager has not sent a request yet.' : 'This page has no request budgets.'),
        el('p', { class: 'muted' }, 'The replica of the manager that leads calls AWS. Open the page of that replica.')));
      return;
    }
    content.replaceChildren(el('div', { class: 'card' }, stacked(el('table', { class: 'plain budgets' }, el('caption', { class: 'hidden' }, 'Request budgets, those that objects wait for first'),
      el('thead', {}, el('tr', {}, ...['Budget', 'Left', 'Waiting'].map((text) => el('th', { scope: 'col' }, text)))),
      el('tbody', {}, ...all.map((b) => el('tr', {}, el('th', { scope: 'row' }, name(b).split(/(?<=:)/).map((part, i) => [i ? el('wbr') : null, part]), el('div', { class: 'muted' }, `${b.account || 'account not known'} · ${b.region}`)),
        el('td', {}, el('span', { class: 'nowrap' }, `${count(b.left)} of ${count(b.burst)}`), el('progress', { max: b.burst, value: b.left, 'aria-label': `${b.left} of ${b.burst} requests left`, class: b.waiters > 0 || b.left < 1 ? 'low' : '' }),
          el('div', { class: 'muted' }, `and ${numbers.format(b.perSecond)} a second`)), el('td', {}, waiting(b)))))))));
    const waiters = all.reduce((sum, b) => sum + b.waiters, 0);
    const text = waiters > 0 ? `${plural(waiters, 'caller')} waiting for requests` : 'nothing waits for requests';
    if (text !== said) announce(said = text);
  }
  show();
  return onChange((changed) => { if (!changed || [...changed].some((key) => key.startsWith('Budget/') || key === 'meta')) show(); });
}
