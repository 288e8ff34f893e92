import { addressLines } from './address.js'

export function renderInvoice(invoice) {
  const head = addressLines(invoice.customer).join('\n')
  const rows = invoice.items.map(({ title, price }) => `${title}  ${price.toFixed(2)}`)
  return `${head}\n\n${rows.join('\n')}\n`
}
