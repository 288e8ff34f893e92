/** In euros. */
export const PRICES = {
  'T-201': 219,
  'T-402': 549,
  'S-110': 129,
  'P-030': 89,
  'L-007': 39,
}
