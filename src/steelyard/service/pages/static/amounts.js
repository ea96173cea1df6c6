// Amounts with as many digits as their doubt allows, written as the words of the owner page are (report/amounts.py).
const MOST = 6;

// Digits after the point of a number within a band; below 0 where tens or more are in doubt.
export function digits(low, high) {
  const doubt = (high - low) / 16; // two digits of half its width
  return doubt > 0 && Number.isFinite(doubt) ? Math.max(-MOST, Math.min(MOST, -Math.floor(Math.log10(doubt)))) : 2;
}

export function amount(value, places) {
  const unit = 10 ** Math.max(0, -places), shown = Math.max(0, places);
  const rounded = places < 0 ? Math.round(value / unit) * unit : value;
  return rounded.toLocaleString("en", { minimumFractionDigits: shown, maximumFractionDigits: shown, signDisplay: "negative" });
}

// "0.43 (0.29 to 0.58)", or the reason why there is no number.
export function banded({ value, low, high, reason }, shown = amount) {
  if (value === null) return reason;
  const places = digits(low, high);
  return `${shown(value, places)} (${shown(low, places)} to ${shown(high, places)})`;
}
