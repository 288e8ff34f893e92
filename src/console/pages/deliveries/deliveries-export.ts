/** The filtered deliveries as a CSV file. */
import type * as z from 'zod'
import { listDeliveries } from '../../../contracts/deliveries.ts'
import { PAGE_MAX } from '../../../contracts/limits.ts'
import { organizationOf, sessionOf, type PageContext } from '../../context.ts'
import { exportList } from '../../export-list.ts'
import { asInput, readFilters } from './delivery-filters.ts'

type Delivery = z.output<typeof listDeliveries.output>['deliveries'][number]

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
  'http_status',
  'duration_ms',
  'next_attempt_at',
  'settled_at',
  'replay_of',
] as const satisfies readonly (keyof Delivery)[]

export async function exportDeliveries(c: PageContext): Promise<Response> {
  const call = sessionOf(c).callIn(organizationOf(c).id)
  const input = { ...asInput(readFilters(c.req.query())), limit: PAGE_MAX }
  return exportList(c, {
    name: 'deliveries',
    format: 'csv',
    columns: COLUMNS,
    first: await call(listDeliveries, input),
    next: (cursor) => call(listDeliveries, { ...input, cursor }),
    rowsOf: ({ deliveries }) => deliveries.map((one) => COLUMNS.map((column) => one[column])),
  })
}
