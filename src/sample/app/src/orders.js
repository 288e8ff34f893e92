import { discountOn } from './discounts.js'
import { PRICES } from './prices.js'

/** What an order costs, in euros. */
export function totalOf({ items, code }) {
  const amount = items.reduce((sum, { sku, count }) => sum + PRICES[sku] * count, 0)
  return code ? amount - discountOn(amount, code) : amount
}
