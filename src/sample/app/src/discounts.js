/** What staff hand out at the counter. */
const CODES = {
  SPRING10: { percent: 10 },
  CLUB15: { percent: 15 },
}

export function discountOn(amount, code) {
  return Math.round(amount * CODES[code].percent) / 100
}
