import { PRICES } from './prices.js'

/** What an order costs, in euros. */
export function totalOf({ items }) {
  return items.reduce((sum, { sku, count }) => sum + PRICES[sku] * count, 0)
}
