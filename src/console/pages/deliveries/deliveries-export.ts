/** The filtered deliveries as a CSV file, streamed page by page. */
import type * as z from 'zod'
import type { Call } from '../../../client/http-client.ts'
import { listDeliveries } from '../../../contracts/deliveries.ts'
import { PAGE_MAX } from '../../../contracts/limits.ts'
import { organizationOf, sessionOf, type PageContext } from '../../context.ts'
import { csvLine } from '../../csv.ts'
import { asInput, readFilters } from './delivery-filters.ts'

type Page = z.output<typeof listDeliveries.output>
type Delivery = Page['deliveries'][number]
type Input = Omit<z.input<typeof listDeliveries.input>, 'cursor'>

/** Destinations are names; no address of any kind is exported. */
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

export async function exportDeliveries(c: PageContext): Promise<Response> {
  const call = sessionOf(c).callIn(organizationOf(c).id)
  const input: Input = { ...asInput(readFilters(c.req.query())), limit: PAGE_MAX }
  // Fetched before the response starts, so that a refusal is still an error page.
  const first = await call(listDeliveries, input)
  const day = c.var.deps.clock().toISOString().slice(0, 10)
  return c.body(csvStream(call, input, first), 200, {
    'content-type': 'text/csv; charset=utf-8',
    'content-disposition': `attachment; filename="deliveries-${day}.csv"`,
  })
}

/** Pulled: the next page is fetched once the previous one is sent, and not after the browser disconnects. */
function csvStream(call: Call, input: Input, first: Page): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  let page = first
  return new ReadableStream<Uint8Array>({
    start: (file) => file.enqueue(encoder.encode(csvLine(COLUMNS))),
    async pull(file) {
      const lines = page.deliveries.map((one) => csvLine(COLUMNS.map((column) => one[column])))
      file.enqueue(encoder.encode(lines.join('')))
      if (page.next_cursor === undefined) return file.close()
      page = await call(listDeliveries, { ...input, cursor: page.next_cursor })
    },
  })
}
