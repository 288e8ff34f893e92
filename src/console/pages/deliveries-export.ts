/** The ledger as a file: page after page of what the filters leave, as fast as the browser takes it. */
import type { Context } from 'hono'
import type * as z from 'zod'
import type { Call } from '../../client/call.ts'
import { listDeliveries } from '../../contracts/deliveries.ts'
import { PAGE_MAX } from '../../contracts/limits.ts'
import { organizationOf, visitOf, type ConsoleEnv } from '../visit.ts'
import { csvLine } from './csv.ts'
import { asInput, readFilters } from './delivery-filters.ts'

type Page = z.output<typeof listDeliveries.output>
type Delivery = Page['deliveries'][number]
type Input = Omit<z.input<typeof listDeliveries.input>, 'cursor'>

/** Destinations are names; no address of any kind stands in the ledger. */
const COLUMNS = [
  'created_at',
  'id',
  'event_id',
  'type',
  'subject',
  'app',
  'channel',
  'destination',
  'state',
  'reason',
  'unconfirmed',
  'attempts',
  'duration_ms',
  'next_attempt_at',
  'settled_at',
  'replay_of',
] as const satisfies readonly (keyof Delivery)[]

export async function exportDeliveries(c: Context<ConsoleEnv>): Promise<Response> {
  const call = visitOf(c).callIn(organizationOf(c).id)
  const input: Input = { ...asInput(readFilters(c.req.query())), limit: PAGE_MAX }
  // Asked before anything is answered: a refusal is still a page that says so.
  const first = await call(listDeliveries, input)
  const day = c.var.needs.clock().toISOString().slice(0, 10)
  return c.body(fileOf(call, input, first), 200, {
    'content-type': 'text/csv; charset=utf-8',
    'content-disposition': `attachment; filename="deliveries-${day}.csv"`,
  })
}

/** Pulled: the next page is asked for once the one before is on its way, and never after somebody has gone. */
function fileOf(call: Call, input: Input, first: Page): ReadableStream<Uint8Array> {
  const write = new TextEncoder()
  let page = first
  return new ReadableStream<Uint8Array>({
    start: (file) => file.enqueue(write.encode(csvLine(COLUMNS))),
    async pull(file) {
      const lines = page.deliveries.map((one) => csvLine(COLUMNS.map((column) => one[column])))
      file.enqueue(write.encode(lines.join('')))
      if (page.next_cursor === undefined) return file.close()
      page = await call(listDeliveries, { ...input, cursor: page.next_cursor })
    },
  })
}
