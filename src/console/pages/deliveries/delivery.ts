/** One delivery beside the list it was chosen from: retried, replayed, and awaited after either. */
import { html } from 'hono/html'
import type * as z from 'zod'
import { replayDelivery, retryDelivery, showDelivery } from '../../../contracts/deliveries.ts'
import { ServiceError } from '../../../contracts/errors.ts'
import { listIntegrations } from '../../../contracts/integrations.ts'
import { attempt } from '../../forms.ts'
import { setFlash } from '../../flash.ts'
import { page } from '../../layout.ts'
import { routeInput } from '../../act.ts'
import { createRoutes, organizationOf, sessionOf, type PageContext } from '../../context.ts'
import { deliveryActions, deliveryDetail } from './delivery-detail.ts'
import { readFilters } from './delivery-filters.ts'
import { deliveryPicks, listQuery, readDeliveries } from './delivery-list.ts'
import { DELIVERIES_PATH } from './delivery-labels.ts'

type Delivery = z.output<typeof showDelivery.output>

/** An id of the wrong shape is not found, like an unknown one. */
const ID = ':delivery_id{dlv_[0-9a-z]{25}}'

export const deliveryRoutes = () =>
  createRoutes()
    .get(`/deliveries/${ID}`, showOne)
    .get(`/deliveries/${ID}/progress`, readProgress)
    .post(`/deliveries/${ID}/replay`, replay)
    .post(`/deliveries/${ID}/retry`, retry)

async function showOne(c: PageContext) {
  organizationOf(c)
  const [one, { integrations }] = await Promise.all([readOne(c), sessionOf(c).call(listIntegrations, {})])
  // After what was waited for, so that both say the same.
  const listed = await readDeliveries(c, readFilters(c.req.query()))
  return page(c, {
    title: one.type,
    actions: deliveryActions(
      c,
      one,
      integrations.find(({ id }) => id === one.integration_id),
      listQuery(c),
    ),
    body: html`<div class="workbench">
      ${deliveryPicks(c, listed, one.id)}
      <div id="delivery" class="workbench-main">${follow(c, one)} ${deliveryDetail(one, c.var.deps.clock())}</div>
    </div>`,
  })
}

/** A page that waits longer would look as if it did not come. */
const WAIT_SECONDS = 6

/** Whoever has just pressed a button sees what came of it; the address says how many attempts had ended before. */
async function readOne(c: PageContext): Promise<Delivery> {
  const { delivery_id } = routeInput(c, showDelivery)
  const after = endedIn(c.req.query('after'))
  const session = sessionOf(c)
  if (after === undefined) return session.call(showDelivery, { delivery_id })
  try {
    const waiting = session.callWhile(c.req.raw.signal)
    return await waiting(showDelivery, { delivery_id, wait: WAIT_SECONDS, attempts: after })
  } catch (error) {
    // Too many wait already: then it is shown as it is.
    if (!(error instanceof ServiceError) || error.code !== 'RATE_LIMITED') throw error
    return session.call(showDelivery, { delivery_id })
  }
}

const endedIn = (text: string | undefined): number | undefined =>
  /^\d{1,2}$/.test(text ?? '') ? Number(text) : undefined

const endedOf = ({ attempts_made }: Delivery): number =>
  attempts_made.filter(({ ended_at }) => ended_at !== null).length

/** While it is due: the script asks until an attempt has ended, and loads the page again. */
function follow(c: PageContext, one: Delivery) {
  const isDue =
    one.next_attempt_at !== null && Date.parse(one.next_attempt_at) <= c.var.deps.clock().getTime() + SOON_MS
  if (!isDue) return null
  return html`<p class="note" role="status">An attempt is due. <a href="${DELIVERIES_PATH}/${one.id}${listQuery(c)}">Refresh</a></p>
    <pre class="unseen" data-live="${progressPath(one.id, endedOf(one))}"></pre>`
}

/** What is due later is looked at later. */
const SOON_MS = 60_000

const progressPath = (id: string, ended: number): string =>
  `${DELIVERIES_PATH}/${id}/progress?${new URLSearchParams({ after: String(ended) })}`

async function readProgress(c: PageContext) {
  const known = endedIn(c.req.query('after')) ?? 0
  const { signal } = c.req.raw
  const one = await readOne(c).catch((error: unknown) => {
    // Nobody reads the answer any more.
    if (signal.aborted) return undefined
    throw error
  })
  if (one === undefined) return c.json({})
  const ended = endedOf(one) > known || one.next_attempt_at === null
  return c.json({ text: '', more: progressPath(one.id, known), ended })
}

async function retry(c: PageContext) {
  const { delivery_id } = routeInput(c, showDelivery)
  const { call } = sessionOf(c)
  const before = endedOf(await call(showDelivery, { delivery_id }))
  const result = await attempt(() => call(retryDelivery, { delivery_id }))
  if ('problem' in result) return refused(c, delivery_id, result.problem)
  const isHeld = Date.parse(result.done.next_attempt_at) > c.var.deps.clock().getTime() + SOON_MS
  if (!isHeld) return c.redirect(pathAfter(c, delivery_id, before), 303)
  setFlash(c, 'done', 'The receiver asked to wait; the attempt is made when that time is over.')
  return c.redirect(pathAfter(c, delivery_id), 303)
}

/** With the filters of the list, and the number of attempts that had ended before. */
function pathAfter(c: PageContext, id: string, ended?: number): string {
  const query = new URLSearchParams(listQuery(c))
  if (ended !== undefined) query.set('after', String(ended))
  return `${DELIVERIES_PATH}/${id}${query.size === 0 ? '' : `?${query}`}`
}

async function replay(c: PageContext) {
  const { delivery_id: id } = routeInput(c, showDelivery)
  const result = await attempt(() => sessionOf(c).call(replayDelivery, { delivery_id: id }))
  if ('problem' in result) return refused(c, id, result.problem)
  setFlash(c, 'done', 'Replayed. This page shows the new delivery.')
  return c.redirect(pathAfter(c, result.done.id, 0), 303)
}

function refused(c: PageContext, id: string, { message, hint }: ServiceError): Response {
  setFlash(c, 'problem', [`${message}.`, hint].filter(Boolean).join(' '))
  return c.redirect(pathAfter(c, id), 303)
}
