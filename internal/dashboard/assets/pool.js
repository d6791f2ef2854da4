import { el, setText, stacked } from './dom.js';
import { onChange, request } from './live.js';
import { taskCard } from './task.js';
import { remember } from './fleet.js';
import { dates, money, monthly, spoken } from './money.js';
import { count, describeVersions, paint, plural, stateOf, versionLine, versionName, when, words } from './words.js';

// mostTiles bounds the grid of instances.
const mostTiles = 1000;

const gone = (instance) => /^Terminating|^Terminated|^Detach/.test(instance.lifecycle ?? '');

function steps(pool) {
  // Cluster API's controllers write the IDs of instances into specs; that is no edit.
  const writer = (pool.writers ?? []).find((w) => w.object === pool.kind && (w.fields ?? []).some((field) => !field.startsWith('providerID')));
  const version = (pool.versions ?? []).find((v) => v.wanted);
  const template = (pool.templates ?? []).find((t) => t.number === (pool.pendingVersion || pool.wantedVersion));
  const drains = pool.drains ?? [];
  const rollout = pool.rollout;
  const problem = (...conditions) => (pool.problems ?? []).find((p) => conditions.includes(p.condition));
  const failed = problem('Resolved', 'Verified', 'LaunchTemplateReady', 'BootstrapDataReady');
  const rolled = problem('RolledOut');
  return [
    { title: 'Edit', tone: 'done', text: writer ? `${writer.manager} set ${(writer.fields ?? []).slice(0, 4).join(', ')}` : 'Who edited the spec is not recorded here.', time: writer?.time },
    pool.pendingVersion
      ? { title: 'Version', tone: 'wait', text: `Version ${pool.pendingVersion} is held back. ${template?.reason ?? ''}`, time: template?.created }
      : { title: 'Version', tone: failed ? 'bad' : pool.wantedVersion ? 'done' : 'none', text: failed ? failed.message : pool.wantedVersion ? `Version ${pool.wantedVersion}. ${template?.reason ?? version?.reason ?? ''}` : 'No version yet.', time: template?.created },
    { title: 'Roll-out', tone: rollout?.active ? 'active' : rolled ? (rolled.needsHuman ? 'bad' : 'wait') : rollout ? 'done' : 'none',
      text: rollout ? [words(rollout.status), rollout.cause].filter(Boolean).join(': ') : rolled ? rolled.message : 'Nothing is rolled out.', time: rollout?.started, rollout: rollout?.active ? rollout : null },
    { title: 'Drain', tone: drains.some((d) => d.budgets?.length) ? 'wait' : drains.length ? 'active' : 'none',
      text: drains.length ? drains.slice(0, 3).map((d) => `${d.node || d.instance}: ${d.waits}`).join('; ') + (drains.length > 3 ? `; and ${drains.length - 3} more` : '') : 'No node is being drained.', time: drains[0]?.since },
  ];
}

const toneWords = { done: 'done', active: 'in progress', wait: 'waiting', bad: 'failed', none: 'nothing to do' };

function timeline(pool) {
  return el('ol', { class: 'steps' }, ...steps(pool).map((step) => {
    const item = el('li', { class: step.tone }, el('h3', {}, step.title, el('span', { class: 'hidden' }, `, ${toneWords[step.tone]}`)), el('p', {}, step.text));
    if (step.rollout) {
      const r = step.rollout;
      item.append(el('progress', { max: 100, value: r.percent, 'aria-label': 'Progress of the roll-out' }),
        el('p', { class: 'muted' }, `${count(r.done)} of ${count(r.total)} instances`, r.eta ? [', complete ', when(r.eta.earliest), r.eta.latest ? [' to ', when(r.eta.latest)] : ' or later'] : ''));
    }
    if (step.time) item.append(el('p', { class: 'muted' }, when(step.time)));
    return item;
  }));
}

function instances(pool) {
  const all = pool.instances ?? [];
  const zones = [...new Set(all.map((i) => i.zone || ''))].sort();
  const order = new Map((pool.versions ?? []).filter((v) => !v.wanted).map((v, i) => [String(v.number ?? ''), Math.min(i + 1, 4)]));
  const bar = el('span', { class: 'versions tall', 'aria-hidden': 'true' });
  paint(bar, pool);
  let left = mostTiles;
  const groups = zones.map((zone) => {
    const inZone = all.filter((i) => (i.zone || '') === zone);
    const shown = inZone.slice(0, Math.max(0, left));
    left -= shown.length;
    return el('section', { class: 'zone' }, el('h3', {}, zone || 'No zone', el('span', { class: 'muted' }, ' ' + count(inZone.length))),
      el('ul', { class: 'tiles' }, ...shown.map((i) => {
        const label = [i.node || i.id, i.node ? i.id : '', i.version ? `version ${i.version}${i.wanted ? ' (wanted)' : ''}` : 'no version', i.type, i.lifecycle, i.health].filter(Boolean).join(', ');
        const tone = i.wanted ? 'wanted' : `old${order.get(String(i.version)) ?? 1}`;
        const state = gone(i) ? ' leaving' : i.lifecycle && i.lifecycle !== 'InService' ? ' coming' : i.health === 'Unhealthy' ? ' sick' : '';
        return el('li', { class: tone + state, title: label }, el('span', { class: 'hidden' }, label));
      })));
  });
  const details = el('details', {}, el('summary', {}, 'As a table'));
  details.addEventListener('toggle', () => {
    if (!details.open || details.children.length > 1) return;
    details.append(stacked(el('table', { class: 'plain' }, el('caption', { class: 'hidden' }, 'Instances'),
      el('thead', {}, el('tr', {}, ...['Instance', 'Node', 'Version', 'Type', 'State', 'Health', 'Zone'].map((t) => el('th', { scope: 'col' }, t)))),
      el('tbody', {}, ...all.slice(0, mostTiles).map((i) => el('tr', {}, el('th', { scope: 'row', class: 'mono' }, i.id), el('td', {}, i.node), el('td', {}, i.version), el('td', {}, i.type), el('td', {}, i.lifecycle), el('td', {}, i.health), el('td', {}, i.zone)))))));
  });
  return el('section', { class: 'card' }, el('h2', {}, 'Instances'),
    el('p', { class: 'muted' }, `${count(pool.ready)} of ${count(pool.desired)} ready`, pool.instanceTypes ? ` · ${pool.instanceTypes}` : ''),
    bar, el('p', { class: 'legend' }, versionLine(pool)), el('p', { class: 'hidden' }, describeVersions(pool)),
    all.length === 0 ? el('p', { class: 'empty small' }, 'The pool has no instances.') : el('div', { class: 'zones' }, ...groups),
    left <= 0 ? el('p', { class: 'muted' }, `The first ${count(mostTiles)} of ${count(all.length)}.`) : null,
    all.length > 0 ? details : null);
}

// cost shows what the instances of the pool cost, and those of each version.
function cost(pool) {
  const all = pool.cost;
  if (!all) return null;
  const card = el('section', { class: 'card' }, el('h2', {}, 'Cost'));
  if (!all.perHour) {
    card.append(el('p', { class: 'muted' }, `The cost is not known: ${all.unknown}.`));
    return card;
  }
  card.append(el('p', { class: 'big' }, el('span', { 'aria-hidden': 'true' }, money(all)), el('span', { class: 'hidden' }, spoken(all)), el('span', { class: 'muted', 'aria-hidden': 'true' }, ' per hour')),
    el('p', { class: 'muted' }, `About ${monthly(all)} in a month of 730 hours.`));
  const versions = pool.versions ?? [];
  if (versions.length > 0) {
    card.append(el('table', { class: 'plain costs' }, el('caption', { class: 'hidden' }, 'Cost of each version'),
      el('thead', {}, el('tr', {}, el('th', { scope: 'col' }, 'Version'), el('th', { scope: 'col', class: 'number' }, 'Instances'), el('th', { scope: 'col', class: 'number' }, 'Per hour'))),
      el('tbody', {}, ...versions.map((v, i) => el('tr', {}, el('th', { scope: 'row' }, versionName(v), v.wanted ? el('span', { class: 'muted' }, ' wanted') : null), el('td', { class: 'number' }, count(v.instances)),
        el('td', { class: 'number' }, money(pool.versionCosts?.[i]) || el('span', { class: 'muted' }, `not known: ${pool.versionCosts?.[i]?.unknown ?? ''}`)))))));
  }
  card.append(el('p', { class: 'muted' }, `${dates(all)}. A range means that AWS chooses, or that it is not recorded how an instance was bought. Volumes, traffic, licenses, and discounts are not included.`));
  return card;
}

// flat returns the leaves of an object by path.
function flat(value, path = '', into = new Map()) {
  if (value && typeof value === 'object') for (const [key, child] of Object.entries(value)) flat(child, path ? `${path}.${key}` : key, into);
  else into.set(path, String(value));
  return into;
}

function differences(from, to, names) {
  const a = flat(from), b = flat(to);
  const paths = [...new Set([...a.keys(), ...b.keys()])].filter((path) => a.get(path) !== b.get(path)).sort();
  if (paths.length === 0) return el('p', { class: 'muted' }, 'They do not differ in anything that the objects hold.');
  return stacked(el('table', { class: 'plain diff' }, el('caption', { class: 'hidden' }, `Differences between ${names[0]} and ${names[1]}`),
    el('thead', {}, el('tr', {}, ...['Field', ...names].map((t) => el('th', { scope: 'col' }, t)))),
    el('tbody', {}, ...paths.map((path) => el('tr', {}, el('th', { scope: 'row' }, path),
      el('td', {}, a.has(path) ? el('del', {}, a.get(path)) : el('span', { class: 'muted' }, 'not set')), el('td', {}, b.has(path) ? el('ins', {}, b.get(path)) : el('span', { class: 'muted' }, 'not set')))))));
}

const comparable = (t) => ({ image: t.imageID, configuration: (t.configFingerprint ?? '').slice(0, 12), 'bootstrap data': (t.bootstrapFingerprint ?? '').slice(0, 12), created: t.created, 'created because': t.reason });

function compare(pool, chosen) {
  const templates = pool.templates ?? [];
  const card = el('section', { class: 'card' }, el('h2', {}, 'Compare versions'));
  if (pool.launched && pool.resolved) card.append(el('h3', {}, 'Launched now, and asked for by the spec'), differences(pool.launched, pool.resolved, ['Launched', 'Asked for']));
  if (templates.length < 2) {
    card.append(el('p', { class: 'muted' }, 'There is only one version.'));
    return card;
  }
  chosen.to = templates.some((t) => t.number === chosen.to) ? chosen.to : pool.pendingVersion || pool.wantedVersion || templates[0].number;
  chosen.from = templates.some((t) => t.number === chosen.from) ? chosen.from : (templates.find((t) => t.number < chosen.to) ?? templates.at(-1)).number;
  const select = (side, label) => {
    const box = el('select', { id: 'compare-' + side }, ...templates.map((t) => el('option', { value: t.number }, `Version ${t.number}`)));
    box.value = chosen[side];
    box.addEventListener('change', () => { chosen[side] = Number(box.value); draw(); });
    return [el('label', { for: 'compare-' + side }, label), box];
  };
  const result = el('div', { 'aria-live': 'polite' });
  const draw = () => {
    const [a, b] = [chosen.from, chosen.to].map((n) => templates.find((t) => t.number === n));
    const between = templates.filter((t) => t.number > Math.min(a.number, b.number) && t.number <= Math.max(a.number, b.number) && t.reason).sort((x, y) => x.number - y.number);
    result.replaceChildren(differences(comparable(a), comparable(b), [`Version ${a.number}`, `Version ${b.number}`]),
      el('h3', {}, 'What changed in between'),
      between.length ? el('ul', { class: 'changes' }, ...between.map((t) => el('li', {}, el('b', {}, `v${t.number}`), ' ', t.reason))) : el('p', { class: 'muted' }, 'No reason is recorded.'));
  };
  draw();
  card.append(el('div', { class: 'choose' }, ...select('from', 'From'), ...select('to', 'to')), result,
    el('p', { class: 'muted' }, 'Objects hold fingerprints of versions and not their fields. ', el('code', {}, `slipway diff ${pool.name} ${chosen.from} ${chosen.to} -n ${pool.namespace}`), ' reads the versions in EC2 and shows every field.'));
  return card;
}

function history(pool) {
  const launches = pool.history ?? [];
  const tone = { Current: 'good', InProgress: 'active', Incomplete: 'warn', RolledBack: 'warn' };
  return el('section', { class: 'card' }, el('h2', {}, 'History'),
    launches.length === 0 ? el('p', { class: 'muted' }, 'Nothing was launched yet.') : stacked(el('table', { class: 'plain' }, el('caption', { class: 'hidden' }, 'Launches, newest first'),
      el('thead', {}, el('tr', {}, ...['Version', 'When', 'Change', 'By', 'Instances', 'Outcome'].map((t) => el('th', { scope: 'col' }, t)))),
      el('tbody', {}, ...launches.map((l) => el('tr', {}, el('th', { scope: 'row' }, `v${l.version}`), el('td', {}, when(l.launched)), el('td', {}, l.change || words(l.cause)),
        el('td', {}, l.by || el('span', { class: 'muted' }, 'not recorded')), el('td', {}, count(l.nodes)), el('td', {}, el('span', { class: `pill ${tone[l.outcome] ?? 'quiet'}` }, words(l.outcome)))))))));
}

function conditions(pool) {
  return el('details', { class: 'card' }, el('summary', {}, el('h2', {}, 'Conditions')), stacked(el('table', { class: 'plain' }, el('caption', { class: 'hidden' }, 'Conditions of the pool'),
    el('thead', {}, el('tr', {}, ...['Condition', 'Status', 'Reason', 'Message', 'Since'].map((t) => el('th', { scope: 'col' }, t)))),
    el('tbody', {}, ...(pool.conditions ?? []).map((c) => el('tr', {}, el('th', { scope: 'row' }, c.type), el('td', {}, c.status), el('td', {}, c.reason), el('td', {}, c.message), el('td', {}, when(c.lastTransitionTime))))))));
}

export function pool(main, announce, [kind, namespace, name]) {
  remember({ kind, namespace, name });
  const key = `${kind}/${namespace}/${name}`;
  const pill = el('span', { class: 'pill' });
  const line = el('p', { class: 'muted' });
  const tasks = el('div', {});
  const content = el('div', { class: 'poolpage' });
  main.append(el('nav', { 'aria-label': 'Breadcrumb', class: 'crumbs' }, el('a', { href: '#/fleet' }, 'Fleet'), el('span', { 'aria-hidden': 'true' }, ' / '), namespace),
    el('div', { class: 'head' }, el('h1', { tabindex: -1 }, name), pill), line, tasks, content);
  const chosen = { from: 0, to: 0 };
  let shown = '', busy = false, again = false, stopped = false, said = '';
  async function load() {
    if (busy) { again = true; return; }
    busy = true;
    try {
      const response = await request(`pool?${new URLSearchParams({ kind, namespace, name })}`);
      if (stopped) return;
      if (response.status === 404) {
        pill.className = 'pill quiet';
        setText(pill, 'Deleted');
        tasks.replaceChildren();
        content.replaceChildren(el('p', { class: 'empty' }, 'This pool does not exist.'));
        shown = '';
      } else if (response.ok) {
        draw(await response.text());
      }
    } catch { /* the connection comes back, and with it the next change */ } finally {
      busy = false;
      if (again && !stopped) { again = false; load(); }
    }
  }
  function draw(text) {
    if (text === shown || stopped) return;
    shown = text;
    const found = JSON.parse(text);
    const state = stateOf(found);
    const open = [...content.querySelectorAll('details')].map((d) => d.open);
    const focus = document.activeElement?.id;
    pill.className = `pill ${state.tone}`;
    setText(pill, state.label);
    setText(line, [found.kind, found.cluster && `cluster ${found.cluster}`, found.launchTemplateID, found.group].filter(Boolean).join(' · '));
    tasks.replaceChildren(...(found.tasks ?? []).map((task) => taskCard(task)));
    content.replaceChildren(el('section', { class: 'card wide' }, el('h2', {}, 'Current change'), timeline(found)), instances(found), ...[cost(found)].filter(Boolean), compare(found, chosen), history(found), conditions(found));
    content.querySelectorAll('details').forEach((d, i) => { d.open = open[i] ?? false; });
    if (focus) document.getElementById(focus)?.focus({ preventScroll: true });
    const now = `${name}: ${state.label}, ${plural(found.upToDate, 'instance')} of ${count(found.replicas)} up to date`;
    if (now !== said) announce(said = now);
  }
  load();
  const stop = onChange((changed) => { if (!changed || changed.has(key)) load(); });
  return () => { stopped = true; stop(); };
}
