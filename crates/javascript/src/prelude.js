const f = Math.fround;
const power = (a, b) => (a === 1 || b === 0 ? 1 : Math.abs(a) === 1 && Math.abs(b) === Infinity ? 1 : Math.pow(a, b));
const rest = (a, b) => {
  if (Number.isFinite(a) && Math.abs(b) === Infinity) return a === 0 || (a < 0) === (b < 0) ? a : b;
  const r = a % b;
  return r !== 0 && (r < 0) !== (b < 0) ? r + b : r;
};
const wholeRest = (a, b) => (b === 0 ? 0 : rest(a, b));
const even = (x) => {
  const low = Math.floor(x), off = x - low;
  return off < 0.5 ? low : off > 0.5 ? low + 1 : low % 2 === 0 ? low : low + 1;
};
const clamped = (x, low, high) => (x < low ? low : x > high ? high : x);
const toI32 = (x) => (x === x ? clamped(Math.trunc(x), -2147483648, 2147483647) : 0);
const toU32 = (x) => (x === x ? clamped(Math.trunc(x), 0, 4294967295) : 0);
const erf = (x) => {
  const a = Math.abs(x);
  if (!(a <= 6)) return a === a ? Math.sign(x) : x;
  if (a < 2) {
    let term = x, sum = x;
    for (let n = 1; Math.abs(term) > 1e-18 * Math.abs(sum); n++) {
      term *= (-x * x) / n;
      sum += term / (2 * n + 1);
    }
    return sum * 1.1283791670955126;
  }
  let tail = 0;
  for (let k = 80; k > 0; k--) tail = k / 2 / (a + tail);
  return Math.sign(x) * (1 - Math.exp(-a * a) / ((a + tail) * 1.772453850905516));
};
