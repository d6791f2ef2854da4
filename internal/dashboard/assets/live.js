// The connection to the server. It reads server-sent events with fetch, because EventSource cannot send
// the token in a header. The token stays in this tab.

export const rows = new Map();
const listeners = new Set();
let token = sessionStorage.getItem('slipway-token') ?? '';

// onChange calls a function with the set of keys that changed, or null if any may have.
export function onChange(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function setToken(text) {
  token = text;
  sessionStorage.setItem('slipway-token', text);
}

// request asks the server.
export function request(path, options = {}) {
  const headers = token ? { Authorization: 'Bearer ' + token } : {};
  return fetch('api/' + path, { headers, cache: 'no-store', redirect: 'error', referrerPolicy: 'no-referrer', ...options });
}

export const ofKind = (...kinds) => [...rows.values()].filter((row) => kinds.includes(row.kind));
export const isPool = (row) => row.kind === 'AWSMachinePool' || row.kind === 'AWSManagedMachinePool';
export const keyOf = (row) => `${row.kind}/${row.namespace ?? ''}/${row.name}`;

function apply(update) {
  let changed = new Set([...Object.keys(update.rows ?? {}), ...(update.gone ?? [])]);
  if (update.complete) {
    rows.clear();
    changed = null;
  }
  for (const [key, row] of Object.entries(update.rows ?? {})) rows.set(key, row);
  for (const key of update.gone ?? []) rows.delete(key);
  for (const listener of listeners) listener(changed);
}

// silence is how long the server may be silent; it sends a heartbeat every 15 s.
const silence = 45000;

async function read(response, abort) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let timer = setTimeout(() => abort.abort(), silence);
  let parts = []; // of a line that is not complete
  let name = '';
  const line = (text) => {
    if (text.startsWith('event: ')) name = text.slice(7);
    if (text.startsWith('data: ') && name === 'rows') apply(JSON.parse(text.slice(6)));
  };
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      clearTimeout(timer);
      timer = setTimeout(() => abort.abort(), silence);
      const pieces = value.split('\n');
      pieces.forEach((piece, i) => {
        parts.push(piece);
        if (i === pieces.length - 1) return;
        line(parts.join(''));
        parts = [];
      });
    }
  } finally {
    clearTimeout(timer);
  }
}

// connect keeps a connection open for as long as the page is. It reports its state: live, waiting, or
// refused with the status of the answer.
export async function connect(report) {
  let lived = false;
  for (let attempt = 0; ; attempt++) {
    const abort = new AbortController();
    try {
      const response = await request('events', { signal: abort.signal });
      // controller-runtime answers 500 to a token that the API server does not know, as it does while the
      // API server cannot be asked.
      const unknown = response.status === 500 && (!lived || attempt > 2) && (await response.text()).startsWith('Authentication failed');
      if (unknown || response.status === 401 || response.status === 403) {
        await report('refused', unknown ? 401 : response.status);
        attempt = 0;
        continue;
      }
      if (!response.ok) throw new Error('status ' + response.status);
      report('live');
      lived = true;
      attempt = 0;
      await read(response, abort);
    } catch {
      abort.abort();
    }
    // A stream that ends in good order is opened again at once.
    if (attempt > 0) report('waiting');
    const delay = attempt === 0 ? 50 : Math.min(15000, 500 * 2 ** attempt) * (0.7 + 0.6 * Math.random());
    await new Promise((resolve) => setTimeout(resolve, delay));
  }
}
