// Costs per hour: a range where AWS chooses, or where it is not recorded how an instance was bought.

const formats = new Map();
function format(currency, digits) {
  const key = currency + digits;
  if (!formats.has(key)) {
    let made;
    try { made = new Intl.NumberFormat('en', { style: 'currency', currency, minimumFractionDigits: digits, maximumFractionDigits: digits }); } catch { made = new Intl.NumberFormat('en', { minimumFractionDigits: digits, maximumFractionDigits: digits }); }
    formats.set(key, made);
  }
  return formats.get(key);
}

// amount formats with two digits, or more for small amounts.
const amount = (value, currency) => format(currency || 'USD', value === 0 || value >= 1 ? 2 : value < 0.1 ? 4 : 3).format(value);

// money is the cost per hour as text, and "" if it is not known.
export function money(cost) {
  if (!cost?.perHour) return '';
  const [min, max] = [cost.perHour.min, cost.perHour.max].map((value) => amount(value, cost.currency));
  return min === max ? min : `${min}–${max}`;
}

// spoken is the same for a screen reader.
export function spoken(cost) {
  if (!cost) return '';
  if (!cost.perHour) return `Cost not known: ${cost.unknown}`;
  const [min, max] = [cost.perHour.min, cost.perHour.max].map((value) => amount(value, cost.currency));
  return min === max ? `${min} per hour` : `${min} to ${max} per hour`;
}

// sum adds costs up, and counts those that are not known. Amounts in other currencies than the first are not known either.
export function sum(costs) {
  const total = { perHour: { min: 0, max: 0 }, currency: '', listed: '', read: '', unknown: 0, known: 0 };
  for (const cost of costs) {
    if (!cost?.perHour || (total.currency && cost.currency && cost.currency !== total.currency)) { total.unknown++; continue; }
    total.known++;
    total.currency ||= cost.currency ?? '';
    total.perHour.min += cost.perHour.min;
    total.perHour.max += cost.perHour.max;
    for (const date of ['listed', 'read']) if (cost[date] && (!total[date] || cost[date] < total[date])) total[date] = cost[date];
  }
  return total;
}

// dates says which prices a cost is by.
export function dates(cost) {
  const day = (iso) => iso.slice(0, 10);
  return [cost.listed && `On-Demand list prices of ${day(cost.listed)}`, cost.read && `Spot prices of ${day(cost.read)}, ${cost.read.slice(11, 16)} UTC`].filter(Boolean).join('; ');
}

export const hoursPerMonth = 730; // by which AWS's calculator computes

// monthly is the cost of a month.
export function monthly(cost) {
  if (!cost?.perHour) return '';
  const whole = format(cost.currency || 'USD', 0);
  const [min, max] = [cost.perHour.min, cost.perHour.max].map((value) => whole.format(value * hoursPerMonth));
  return min === max ? min : `${min}–${max}`;
}
