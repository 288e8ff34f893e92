import { nextInvoices, send } from './queue.js'
import { renderInvoice } from './invoice.js'

for await (const invoice of nextInvoices()) {
  try {
    await send(invoice.customer.email, renderInvoice(invoice))
    console.log(JSON.stringify({ level: 'info', message: `invoice ${invoice.number} sent` }))
  } catch (error) {
    console.log(JSON.stringify({ level: 'error', message: `invoice ${invoice.number} not sent`, stack: error.stack }))
  }
}
