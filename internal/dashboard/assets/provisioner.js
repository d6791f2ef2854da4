import { el, stacked } from './dom.js';
import { rows, onChange, ofKind } from './live.js';
import { dates, money, spoken, sum } from './money.js';
import { count, plural, when, words } from './words.js';

// most bounds the rows of a table.
const most = 500;

const tone = { Ready: 'good', Launching: 'active', Starting: 'active', Initializing: 'active', Draining: 'quiet', 'Not ready': 'warn' };

function table(caption, columns, lines, none) {
  if (lines.length === 0) return el('p', { class: 'empty small' }, none);
  const shown = lines.slice(0, most);
  return [el('div', { class: 'card' }, stacked(el('table', { class: 'plain' }, el('caption', { class: 'hidden' }, caption),
    el('thead', {}, el('tr', {}, ...columns.map((text) => el('th', { scope: 'col' }, text)))),
    el('tbody', {}, ...shown.map((cells) => el('tr', {}, ...cells.map((cell, i) => el(i === 0 ? 'th' : 'td', i === 0 ? { scope: 'row' } : {}, cell)))))))),
  lines.length > most ? el('p', { class: 'muted' }, `${count(lines.length - most)} more.`) : null];
}

// open are the nodes whose offerings are shown.
const open = new Set();

// offerings shows the instance types that suited a node, and which one EC2 chose.
function offerings(n) {
  const bought = [n.instanceType, n.zone, n.capacity].filter(Boolean).join(' · ');
  const choices = n.choices ?? [];
  if (choices.length === 0) return bought;
  const details = el('details', { open: open.has(n.name) }, el('summary', {}, n.instanceType ? `Chosen from ${plural(n.offerings, 'offering')}` : plural(n.offerings, 'offering') + ' to choose from'),
    el('ol', { class: 'choices' }, ...choices.map((c) => el('li', { class: c.chosen ? 'chosen' : '' }, c.instanceType, el('span', { class: 'muted' }, ` in ${c.zones.join(', ')}`),
      c.chosen ? el('b', {}, ` chosen in ${c.chosen}`) : n.instanceType ? el('span', { class: 'muted' }, ', not chosen') : null))),
    el('p', { class: 'muted' }, 'The cheapest first. EC2 chooses by price and capacity.'));
  details.addEventListener('toggle', () => { if (details.open) open.add(n.name); else open.delete(n.name); });
  return [bought, details];
}

// costLine shows what the nodes of a Provisioner cost together.
function costLine(name, nodes) {
  const costs = nodes.filter((n) => n.provisioner === name && n.cost).map((n) => n.cost);
  const all = sum(costs);
  if (all.known === 0) return null;
  return el('p', {}, el('b', { class: 'price' }, el('span', { 'aria-hidden': 'true' }, `${money(all)} per hour`), el('span', { class: 'hidden' }, spoken(all))),
    el('span', { class: 'muted' }, all.unknown > 0 ? `, without ${plural(all.unknown, 'node')} whose cost is not known. ` : '. ', dates(all), '.'));
}

// whys say in words why offerings are rejected. A reason that is not known is shown as it is.
const whys = {
  Taints: 'A pod does not tolerate the taints of the nodes', Architecture: 'Another processor architecture is asked for', InstanceType: 'Another instance type, or another label of one, is asked for',
  Zone: 'Another zone is asked for, or a volume is in another zone', CapacityType: 'Another capacity type is asked for', LaunchRefused: 'EC2 refuses to launch it from the launch template',
  NoCapacity: 'AWS had no capacity recently, or the account may not launch it', TooSmall: 'Too small for a pod', Limits: 'More than the limits of the Provisioner leave',
  Placement: 'Affinities, topology spread constraints, or host ports of a pod do not allow it',
};

// rejections shows which offerings are rejected for pending pods.
function rejections(provisioners) {
  const lines = provisioners.flatMap((p) => (p.offerings ?? []).map((o) => [p.name, whys[o.reason] ?? words(o.reason), el('span', { class: 'number' }, count(o.offerings)), o.example, o.pod]));
  if (lines.length === 0) return [];
  return [el('h2', {}, 'Rejected offerings'), el('p', { class: 'muted' }, 'Why no instance is launched for pods that have waited for a while. An offering is an instance type in a zone, bought in one way. The first reason that applies counts.'),
    table('Offerings that are rejected for pending pods, by Provisioner and reason', ['Provisioner', 'Why', 'Offerings', 'For example', 'For pod'], lines, '')].flat().filter(Boolean);
}

export function provisioner(main, announce) {
  const content = el('div', {});
  main.append(el('div', { class: 'head' }, el('h1', { tabindex: -1 }, 'Provisioner')), content);
  let shown = '';
  function show() {
    const provisioners = ofKind('Provisioner').sort((a, b) => a.name.localeCompare(b.name));
    const nodes = ofKind('ProvisionedNode').sort((a, b) => a.provisioner.localeCompare(b.provisioner) || b.created.localeCompare(a.created));
    const pods = ofKind('Pod').sort((a, b) => a.since.localeCompare(b.since));
    const now = JSON.stringify([provisioners, nodes, pods]);
    if (now === shown) return;
    shown = now;
    if (!rows.get('meta')?.provisioners) {
      content.replaceChildren(el('div', { class: 'empty' }, el('p', {}, 'This cluster has no Provisioners that you may see.'),
        el('p', { class: 'muted' }, 'Provisioners run in the cluster whose pods need nodes. Start the dashboard with the kubeconfig of that cluster.')));
      return;
    }
    content.replaceChildren();
    content.append(el('div', { class: 'cards' }, ...provisioners.map((p) => el('article', { class: 'card' },
      el('div', { class: 'cardhead' }, el('h2', {}, p.name), el('span', { class: `pill ${p.ready === 'True' ? 'good' : 'warn'}` }, p.ready === 'True' ? 'Ready' : 'Not ready')),
      el('p', { class: 'big' }, count(p.nodes), el('span', { class: 'muted' }, p.nodes === 1 ? ' node' : ' nodes')),
      el('p', { class: 'muted' }, [p.cpu && `${p.cpu} CPU`, p.memory && `${p.memory} memory`].filter(Boolean).join(' · '), p.limits ? ` of at most ${p.limits.join(', ')}` : ''),
      rows.get('meta')?.prices ? costLine(p.name, nodes) : null,
      ...(p.problems ?? []).map((problem) => el('p', { class: 'message' }, el('b', {}, words(problem.reason)), ': ', problem.message, problem.remedy ? el('span', { class: 'muted' }, ' ' + problem.remedy) : '')),
      ...(p.rejected ?? []).map((text) => el('p', { class: 'message' }, el('b', {}, 'Launch template rejected'), ': ', text)),
    ))));
    content.append(el('h2', {}, 'Pending pods ', el('span', { class: 'count' }, count(pods.length))));
    content.append(...[table('Pods that no node has room for, with the reason', ['Pod', 'Since', 'Why'], pods.map((pod) => [
      el('span', { class: 'two' }, el('span', { class: 'poolname' }, pod.name), el('span', { class: 'where' }, pod.namespace)), when(pod.since),
      el('span', {}, pod.slipway ? [el('b', {}, words(pod.reason)), ': ', pod.slipway] : el('span', { class: 'muted' }, pod.scheduler || 'The Provisioner has not reported on it yet.'))]),
    'Every pod has a node.')].flat().filter(Boolean));
    content.append(...rejections(provisioners));
    content.append(el('h2', {}, 'Nodes ', el('span', { class: 'count' }, count(nodes.length))));
    const priced = rows.get('meta')?.prices && nodes.some((n) => n.cost?.perHour);
    content.append(...[table('Nodes that Provisioners launched', ['Node', 'Provisioner', 'Status', 'Instance', ...(priced ? ['Per hour'] : []), 'Age'], nodes.map((n) => [
      el('span', { class: 'two' }, el('span', { class: 'poolname' }, n.node || n.name), el('span', { class: 'where' }, n.message || n.instance || '')), n.provisioner,
      el('span', { class: `pill ${tone[n.phase] ?? 'quiet'}` }, n.phase), offerings(n), ...(priced ? [el('span', { class: 'nowrap', title: n.cost?.unknown }, money(n.cost) || '–')] : []), when(n.created)]),
    'There are no nodes.')].flat().filter(Boolean));
    announce(`${plural(pods.length, 'pod')} pending, ${plural(nodes.length, 'node')}`);
  }
  show();
  return onChange((changed) => { if (!changed || [...changed].some((key) => /^(Prov|Pod|meta)/.test(key))) show(); });
}
